import type { Client, ClientFields } from '../../lib/contracts.ts';
import type { ClientInvalidError } from '../../lib/errors.ts';
import type { Problem } from '../page.ts';
import { plain, printable, sentence } from '../sentence.ts';
import type { Texts } from '../text.ts';
import { fieldsOfPlace, isPlace, kindOf } from './kind.ts';
import type { AppForm } from './views.ts';

/** What was typed into the form of an app. */
export function readAppForm(posted: Readonly<Record<string, string>>): AppForm {
  const { name = '', grantType = '', place = '', redirectUris = '', firstParty } = posted;
  return {
    name,
    grantType,
    place: isPlace(place) ? place : '',
    redirectUris,
    firstParty: firstParty !== undefined,
  };
}

/** The form of an app as it is. */
export function formOf(client: Client): AppForm {
  const kind = kindOf(client);
  return {
    name: printable(client.name),
    grantType: client.grantType,
    place: kind === 'service' ? '' : kind,
    redirectUris: client.redirectUris.join('\n'),
    firstParty: client.firstParty,
  };
}

/** What the form says of an app that people sign in to. */
export function fieldsForPeople(
  form: AppForm,
): Pick<ClientFields, 'redirectUris' | 'confidential' | 'native'> {
  return {
    redirectUris: linesOf(form.redirectUris),
    ...(form.place === '' ? {} : fieldsOfPlace(form.place)),
  };
}

// Once each: problems are told by number.
function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

/**
 * The state of an app that a form was opened with. When it comes back after another change, by somebody else or by the
 * same person in another tab, saving it would undo that unseen.
 */
export function versionOf({ updatedAt }: Client): string {
  return String(updatedAt);
}

/** What a person has to mend. What the pages have no words of their own for is told in the registry's. */
export function problemsOf(error: ClientInvalidError, text: Texts): readonly Problem[] {
  const problems = error.fields.map(({ field, message }): Problem => {
    const number = /^redirectUris\[(\d+)\]$/.exec(field)?.[1];
    if (number !== undefined) {
      const names = { number: String(Number(number) + 1), problem: message };
      return { field: 'redirectUris', message: plain(sentence(text['apps.problem.redirectUri'], names)) };
    }
    const key = `apps.problem.${field}`;
    const ownWords = isText(key, text)
      ? text[key]
      : plain(sentence(text['apps.problem.other'], { problem: message }));
    return { message: ownWords, ...(WITH_A_PLACE.has(field) ? { field } : {}) };
  });
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

/** The fields that a form can point at. */
const WITH_A_PLACE: ReadonlySet<string> = new Set(['name', 'grantType', 'redirectUris', 'label']);

function isText(key: string, text: Texts): key is keyof Texts {
  return Object.hasOwn(text, key);
}
