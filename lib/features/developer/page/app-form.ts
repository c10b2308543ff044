import { printable } from '../../../../interactions/sentence.ts';
import type { Client, ClientFields } from '../../../contracts/index.ts';
import type { Developer } from '../types.ts';

/** The place where an app runs, for apps that users authorize. */
export type AppPlace = 'server' | 'browser' | 'device';

/** The fields of the form of an app. */
export interface AppForm {
  readonly name: string;
  /** `undefined` when the posted form does not have this field. */
  readonly clientUri: string | undefined;
  readonly verified: boolean;
  readonly grantType: string;
  readonly place: AppPlace | '';
  readonly redirectUris: string;
  /** The fields that features bring; `undefined` when the form does not have the field. */
  readonly further: Readonly<Record<string, string | undefined>>;
  readonly firstParty: boolean;
}

const APP_PLACES: readonly AppPlace[] = ['server', 'browser', 'device'];

/** The place where an app runs that users authorize in a browser; `undefined` for other apps. */
export function placeOf({ confidential, grantType, native }: Client): AppPlace | undefined {
  if (grantType !== 'authorization_code') return undefined;
  if (confidential) return 'server';
  return native ? 'device' : 'browser';
}

/** The client type for the place where an app runs: only a server can keep a secret confidential (RFC 6749 section 2.1). */
function fieldsOfPlace(place: AppPlace): Pick<ClientFields, 'confidential' | 'native'> {
  return { confidential: place === 'server', native: place === 'device' };
}

function isPlace(text: string): text is AppPlace {
  return APP_PLACES.some((place) => place === text);
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
