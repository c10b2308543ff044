import type { Client, ClientFields, FieldError, Seconds } from '../../lib/contracts/index.ts';
import { ClientChangedError, ClientInvalidError } from '../../lib/errors.ts';
import type { FieldProblem } from '../page.ts';
import { plain, printable, sentence } from '../sentence.ts';
import { isTextKey } from '../text.ts';
import type { TextKey, Texts } from '../text.ts';
import type { AppForm, AppPlace } from './views.ts';

const PLACES: readonly AppPlace[] = ['server', 'browser', 'device'];

/** The place where an app runs that users authorize in a browser; `undefined` for another one. */
function placeOf({ confidential, grantType, native }: Client): AppPlace | undefined {
  if (grantType !== 'authorization_code') return undefined;
  if (confidential) return 'server';
  return native ? 'device' : 'browser';
}

/** What the pages call the kind of an app. */
export function nameOfKind(client: Client, text: Texts): string {
  const place = placeOf(client);
  return place
    ? text[`apps.kind.${place}.name`]
    : (text[`kind.${client.grantType}.name`] ?? client.grantType);
}

/** The client type for the place where an app runs: only a server can keep a secret confidential (RFC 6749 section 2.1). */
function fieldsOfPlace(place: AppPlace): Pick<ClientFields, 'confidential' | 'native'> {
  return { confidential: place === 'server', native: place === 'device' };
}

function isPlace(text: string): text is AppPlace {
  return PLACES.some((place) => place === text);
}

/** The posted form of an app. */
export function readAppForm(posted: Readonly<Record<string, string>>): AppForm {
  const {
    clientUri,
    name = '',
    grantType = '',
    place = '',
    postLogoutRedirectUris,
    redirectUris = '',
    backchannelLogoutUri,
    firstParty,
    verified,
  } = posted;
  return {
    name,
    clientUri,
    verified: verified !== undefined,
    grantType,
    place: isPlace(place) ? place : '',
    redirectUris,
    postLogoutRedirectUris,
    backchannelLogoutUri,
    firstParty: firstParty !== undefined,
  };
}

/** The form of an app with its stored values. */
export function formOf(client: Client): AppForm {
  return {
    name: printable(client.name),
    clientUri: client.clientUri ?? '',
    verified: client.verified,
    grantType: client.grantType,
    place: placeOf(client) ?? '',
    redirectUris: client.redirectUris.join('\n'),
    postLogoutRedirectUris: client.postLogoutRedirectUris.join('\n'),
    backchannelLogoutUri: client.backchannelLogoutUri ?? '',
    firstParty: client.firstParty,
  };
}

/** The homepage of an app, from its form; empty when the form has no field for it. */
export function homepageOf({ clientUri }: AppForm): Pick<ClientFields, 'clientUri'> {
  return clientUri === undefined ? {} : { clientUri: clientUri.trim() || undefined };
}

/** The client fields of an app with the authorization code grant, from its form. */
export function fieldsForPeople(
  form: AppForm,
): Pick<
  ClientFields,
  'redirectUris' | 'postLogoutRedirectUris' | 'backchannelLogoutUri' | 'confidential' | 'native'
> {
  const { backchannelLogoutUri: logoutUri, postLogoutRedirectUris: afterLogout } = form;
  return {
    redirectUris: linesOf(form.redirectUris),
    ...(afterLogout !== undefined && { postLogoutRedirectUris: linesOf(afterLogout) }),
    ...(logoutUri !== undefined && { backchannelLogoutUri: logoutUri.trim() || undefined }),
    ...(form.place === '' ? {} : fieldsOfPlace(form.place)),
  };
}

// Without duplicates: problems name a redirect URI by its number, so a wrong one that is repeated would be reported twice.
function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

/**
 * The version of an app, a hidden field of its form. A form whose version is no longer the stored one is refused: saving it
 * would overwrite a change that another user, or the same user in another tab, has made since.
 */
export function versionOf({ updatedAt }: Client): string {
  return String(updatedAt);
}

/** The condition for saving a posted form: the stored version is the one in the form. */
export function versionCondition({ version }: Readonly<Record<string, string>>): {
  readonly ifUpdatedAt: Seconds;
} {
  // Without the field, `NaN` equals no version, and the form is refused.
  return { ifUpdatedAt: Number(version) };
}

/** The status and the problems of a form that is shown again. */
export interface FormError {
  readonly status: number;
  readonly problems: readonly FieldProblem[];
}

/**
 * The status and the problems to show for a change that the registry refused.
 *
 * @throws the error itself when it is of another kind
 */
export function formErrorOf(error: unknown, text: Texts): FormError {
  if (error instanceof ClientChangedError) {
    return { status: 409, problems: [{ message: text['apps.problem.changed'] }] };
  }
  if (!(error instanceof ClientInvalidError)) throw error;
  return { status: 422, problems: problemsOf(error.fields, text) };
}

/** The problems of a form in the language of the page. A problem without a text of the page has the registry's message. */
function problemsOf(errors: readonly FieldError[], text: Texts): readonly FieldProblem[] {
  const problems = errors.map((error): FieldProblem => {
    const message = wordsOf(error, text);
    const [, name = '', index] = /^(.*?)(?:\[(\d+)\])?$/.exec(error.field) ?? [];
    const field = name.startsWith('keys') && name !== 'keys.jwksUri' ? 'jwks' : FORM_FIELDS.get(name);
    if (field === undefined) return { message };
    if (index === undefined) return { field, message };
    const names = { number: String(Number(index) + 1), problem: message };
    return {
      field,
      message: plain(sentence(text[NUMBERED.get(field) ?? 'apps.problem.redirectUri'], names)),
    };
  });
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

function wordsOf({ code, message, parameters = {} }: FieldError, text: Texts): string {
  const key = `apps.problem.${code}`;
  if (!isTextKey(key)) return plain(sentence(text['apps.problem.other'], { problem: message }));
  const names = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  return plain(sentence(text[key], Object.fromEntries(names)));
}

/** The texts for a problem of one of several entries, besides redirect URIs. */
const NUMBERED: ReadonlyMap<string, TextKey> = new Map<string, TextKey>([
  ['jwks', 'apps.problem.key'],
  ['postLogoutRedirectUris', 'apps.problem.postLogoutRedirectUri'],
]);

/** The fields that forms show, by their names in the registry; a problem of another field is about the form as a whole. */
const FORM_FIELDS: ReadonlyMap<string, string> = new Map([
  ...[
    'name',
    'clientUri',
    'logo',
    'grantType',
    'redirectUris',
    'postLogoutRedirectUris',
    'backchannelLogoutUri',
    'label',
  ].map((name) => [name, name] as const),
  ['keys.jwksUri', 'jwksUri'],
]);
