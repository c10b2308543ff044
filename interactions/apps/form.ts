import type { Client, ClientFields } from '../../lib/contracts/index.ts';
import { ClientChangedError, ClientInvalidError } from '../../lib/errors.ts';
import type { Problem } from '../page.ts';
import { printable } from '../sentence.ts';
import type { Texts } from '../text.ts';
import { fieldsOfPlace, isPlace, kindOf } from './kind.ts';
import { problemsOf } from './problems.ts';
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
export function refusalOf(
  error: unknown,
  text: Texts,
): { readonly status: number; readonly problems: readonly Problem[] } {
  if (error instanceof ClientChangedError) {
    return { status: 409, problems: [{ message: text['apps.problem.changed'] }] };
  }
  if (!(error instanceof ClientInvalidError)) throw error;
  return { status: 422, problems: problemsOf(error.fields, text) };
}
