import type { Client, ClientFields, FieldError, Seconds } from '../../../contracts/index.ts';
import type { Developer } from '../types.ts';
import { ClientChangedError, ClientInvalidError } from '../../../errors.ts';
import type { FieldProblem } from '../../../../interactions/page.ts';
import { plain, printable, sentence } from '../../../../interactions/sentence.ts';
import type { AppTexts, DeveloperText } from '../texts.ts';
import type { AppForm, AppPlace } from './view-types.ts';

const PLACES: readonly AppPlace[] = ['server', 'browser', 'device'];

/** The place where an app runs that users authorize in a browser; `undefined` for another one. */
function placeOf({ confidential, grantType, native }: Client): AppPlace | undefined {
  if (grantType !== 'authorization_code') return undefined;
  if (confidential) return 'server';
  return native ? 'device' : 'browser';
}

/** What the pages call the kind of an app. */
export function nameOfKind(client: Client, text: AppTexts): string {
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
    redirectUris = '',
    firstParty,
    verified,
    ...more
  } = posted;
  return {
    name,
    clientUri,
    verified: verified !== undefined,
    grantType,
    place: isPlace(place) ? place : '',
    redirectUris,
    further: more,
    firstParty: firstParty !== undefined,
  };
}

/** The form of an app with its stored values. */
export function formOf(client: Client, fields: Developer['furtherFields']): AppForm {
  const values = client as object as Readonly<Record<string, string | readonly string[] | undefined>>;
  return {
    name: printable(client.name),
    clientUri: client.clientUri ?? '',
    verified: client.verified,
    grantType: client.grantType,
    place: placeOf(client) ?? '',
    redirectUris: client.redirectUris.join('\n'),
    further: Object.fromEntries(fields.map(({ name }) => [name, [values[name] ?? []].flat().join('\n')])),
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
  fields: Developer['furtherFields'],
): Pick<ClientFields, 'redirectUris' | 'confidential' | 'native'> {
  const further = fields.flatMap(({ isList, name }) => {
    const value = form.further[name];
    return value === undefined ? [] : [[name, isList ? linesOf(value) : value.trim() || undefined] as const];
  });
  return {
    redirectUris: linesOf(form.redirectUris),
    ...Object.fromEntries(further),
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
export function formErrorOf(
  error: unknown,
  { developer, text }: { readonly developer: Pick<Developer, 'furtherFields'>; readonly text: AppTexts },
): FormError {
  if (error instanceof ClientChangedError) {
    return { status: 409, problems: [{ message: text['apps.problem.changed'] }] };
  }
  if (!(error instanceof ClientInvalidError)) throw error;
  return { status: 422, problems: problemsOf(error.fields, text, developer.furtherFields) };
}

/** The problems of a form in the language of the page. A problem without a text of the page has the registry's message. */
function problemsOf(
  errors: readonly FieldError[],
  text: AppTexts,
  fields: Developer['furtherFields'],
): readonly FieldProblem[] {
  const isFurther = (name: string): boolean => fields.some((field) => field.name === name);
  const problems = errors.map((error): FieldProblem => {
    const message = wordsOf(error, text);
    const [, name = '', index] = /^(.*?)(?:\[(\d+)\])?$/.exec(error.field) ?? [];
    const field =
      name.startsWith('keys') && name !== 'keys.jwksUri'
        ? 'jwks'
        : isFurther(name)
          ? name
          : FORM_FIELDS.get(name);
    if (field === undefined) return { message };
    if (index === undefined) return { field, message };
    const names = { number: String(Number(index) + 1), problem: message };
    return {
      field,
      message: plain(sentence(text[numbered(field, isFurther(field))], names)),
    };
  });
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

function wordsOf({ code, message, parameters = {} }: FieldError, text: AppTexts): string {
  const key = `apps.problem.${code}`;
  if (!Object.hasOwn(text, key)) return plain(sentence(text['apps.problem.other'], { problem: message }));
  const names = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  return plain(sentence(text[key as DeveloperText], Object.fromEntries(names)));
}

/** The text for a problem of one of several entries. Those of a feature are there with its fields. */
function numbered(field: string, isFurther: boolean): DeveloperText {
  if (isFurther) return `apps.problem.${field}` as DeveloperText;
  return field === 'jwks' ? 'apps.problem.key' : 'apps.problem.redirectUri';
}

/** The fields that forms show, by their names in the registry; a problem of another field is about the form as a whole. */
const FORM_FIELDS: ReadonlyMap<string, string> = new Map([
  ...['name', 'clientUri', 'logo', 'grantType', 'redirectUris', 'label'].map((name) => [name, name] as const),
  ['keys.jwksUri', 'jwksUri'],
]);
