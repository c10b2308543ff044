import type { Client, ClientFields } from '../../lib/contracts/index.ts';
import { ClientChangedError, ClientInvalidError } from '../../lib/errors.ts';
import type { FieldError } from '../../lib/errors.ts';
import type { Problem } from '../page.ts';
import { plain, printable, sentence } from '../sentence.ts';
import { isTextKey } from '../text.ts';
import type { Texts } from '../text.ts';
import type { AppForm, Place } from './views.ts';

/** What an app is, in a person's words: they choose where it runs, which says the rest. */
type Kind = 'service' | Place;

const PLACES: readonly Place[] = ['server', 'browser', 'device'];

export function kindOf({ confidential, grantType, native }: Client): Kind {
  if (grantType === 'client_credentials') return 'service';
  if (confidential) return 'server';
  return native ? 'device' : 'browser';
}

/** What follows from where an app runs: only a server can keep a secret (RFC 6749 section 2.1). */
function fieldsOfPlace(place: Place): Pick<ClientFields, 'confidential' | 'native'> {
  return { confidential: place === 'server', native: place === 'device' };
}

function isPlace(text: string): text is Place {
  return PLACES.some((place) => place === text);
}

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

/** The state that a form came back with, as the developer area knows it. */
export function stateSeen({ version }: Readonly<Record<string, string>>): { readonly ifUpdatedAt: number } {
  // A form that says nothing was not opened here.
  return { ifUpdatedAt: Number(version) };
}

/**
 * What a page says about a change that was refused.
 *
 * @throws the error itself when it is no refusal
 */
export function formErrorOf(
  error: unknown,
  text: Texts,
): { readonly status: number; readonly problems: readonly Problem[] } {
  if (error instanceof ClientChangedError) {
    return { status: 409, problems: [{ message: text['apps.problem.changed'] }] };
  }
  if (!(error instanceof ClientInvalidError)) throw error;
  return { status: 422, problems: problemsOf(error.fields, text) };
}

/** What a person has to mend, in the words of the page. What it has none for is told in the registry's. */
function problemsOf(errors: readonly FieldError[], text: Texts): readonly Problem[] {
  const problems = errors.map((error): Problem => {
    const words = wordsOf(error, text);
    const number = /^redirectUris\[(\d+)\]$/.exec(error.field)?.[1];
    if (number !== undefined) {
      const names = { number: String(Number(number) + 1), problem: words };
      return { field: 'redirectUris', message: plain(sentence(text['apps.problem.redirectUri'], names)) };
    }
    return { message: words, ...(WITH_A_PLACE.has(error.field) ? { field: error.field } : {}) };
  });
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

function wordsOf({ code, message, parameters = {} }: FieldError, text: Texts): string {
  const key = `apps.problem.${code}`;
  if (!isTextKey(key)) return plain(sentence(text['apps.problem.other'], { problem: message }));
  const names = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  return plain(sentence(text[key], Object.fromEntries(names)));
}

/** The fields that a form can point at. */
const WITH_A_PLACE: ReadonlySet<string> = new Set(['name', 'grantType', 'redirectUris', 'label']);
