import { isDeepStrictEqual } from 'node:util';

import type { Client, ClientFields, Gate } from '../contracts.ts';
import { ClientInvalidError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { redirectUriMistake } from './redirect-uris.ts';

/** What a client is checked against. Where one of them is not known, any name is taken. */
export interface KnownNames {
  readonly gate: Pick<Gate, 'has' | 'roles'> | undefined;
  readonly scopes: ReadonlyMap<string, unknown> | undefined;
}

// Characters that change how the text around them reads (Unicode bidi controls), and control characters.
const UNSAFE_IN_NAME = /[\p{Cc}\p{Cf}]/u;

/**
 * Checks the fields of a client all at once and fills in the defaults.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function checkClientFields(
  given: ClientFields,
  { gate, scopes }: KnownNames,
): Omit<Client, 'id' | 'createdAt' | 'updatedAt' | 'disabled'> {
  const mistakes: FieldError[] = [];
  const refuse = (field: string, message: string): void => void mistakes.push({ field, message });
  // In JavaScript nothing may be given.
  const fields: Partial<ClientFields> = given ?? {};
  for (const field of Object.keys(fields)) if (!FIELDS.has(field)) refuse(field, 'there is no such field');
  const { confidential = true, firstParty = false, native = false, grantType, ownerId } = fields;
  const redirectUris = list(fields.redirectUris, 'redirectUris', refuse);
  const roles = list(fields.roles, 'roles', refuse);
  const permissions = list(fields.permissions, 'permissions', refuse);
  const allowed = fields.scopes === undefined ? undefined : list(fields.scopes, 'scopes', refuse);
  const name = typeof fields.name === 'string' ? fields.name.trim() : '';

  if (name === '' || name.length > 100) refuse('name', 'give a name of 1 to 100 characters');
  if (UNSAFE_IN_NAME.test(name)) refuse('name', 'no control characters');
  for (const [field, value] of Object.entries({ confidential, firstParty, native })) {
    if (typeof value !== 'boolean') refuse(field, 'true or false');
  }
  if (ownerId !== undefined && !isUserId(ownerId)) refuse('ownerId', "give a user's id");
  for (const scope of allowed ?? [])
    if (scopes?.has(scope) === false) refuse('scopes', `there is no scope "${scope}"`);

  if (redirectUris.length > MOST_REDIRECT_URIS) refuse('redirectUris', `at most ${MOST_REDIRECT_URIS}`);
  if (grantType === 'authorization_code') {
    if (redirectUris.length === 0) refuse('redirectUris', 'an authorization code client needs at least one');
    redirectUris.forEach((uri, index) => {
      const mistake = redirectUriMistake(uri, { native });
      if (mistake) refuse(`redirectUris[${index}]`, mistake);
    });
    if (native && confidential)
      refuse('native', 'an installed app cannot keep a secret; set confidential to false');
    for (const field of ['roles', 'permissions'] as const) {
      if ((fields[field] ?? []).length > 0)
        refuse(field, "for client credentials only; here the user's own apply");
    }
  } else if (grantType === 'client_credentials') {
    if (redirectUris.length > 0) refuse('redirectUris', 'a client credentials client has none');
    if (!confidential) refuse('confidential', 'client credentials need a secret (RFC 6749 section 4.4)');
    if (native || firstParty) refuse(native ? 'native' : 'firstParty', 'for authorization code clients only');
    for (const role of roles)
      if (gate && !Object.hasOwn(gate.roles, role)) refuse('roles', `there is no role "${role}"`);
    for (const permission of permissions) {
      if (gate?.has(permission) === false) refuse('permissions', `there is no permission "${permission}"`);
    }
  } else {
    refuse('grantType', 'choose authorization_code or client_credentials');
  }
  if (mistakes.length > 0 || grantType === undefined) throw new ClientInvalidError(mistakes);
  return {
    name,
    grantType,
    redirectUris,
    confidential,
    native,
    firstParty,
    scopes: allowed,
    roles,
    permissions,
    ownerId,
  };
}

/**
 * Checks a client as it would be with some of its fields changed.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function checkClientChanges(
  client: Client,
  changes: Partial<Omit<ClientFields, 'grantType'>>,
  names: KnownNames,
): Partial<Client> {
  const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, disabled: _disabled, ...fields } = client;
  // A copy of a client with something changed has all of its members.
  const changed = Object.entries(changes ?? {}).filter(
    ([field, value]) => !isDeepStrictEqual(value, client[field as keyof Client]),
  );
  if (changed.some(([field]) => field === 'grantType')) {
    throw new ClientInvalidError([
      { field: 'grantType', message: 'cannot be changed; register another client' },
    ]);
  }
  return checkClientFields({ ...fields, ...Object.fromEntries(changed) }, names);
}

const FIELDS: ReadonlySet<string> = new Set<keyof ClientFields>([
  'name',
  'grantType',
  'redirectUris',
  'confidential',
  'native',
  'firstParty',
  'scopes',
  'roles',
  'permissions',
  'ownerId',
]);

const MOST_REDIRECT_URIS = 100;

function isUserId(id: unknown): boolean {
  return typeof id === 'string' && id !== '' && id.length <= 255 && !id.includes('\0');
}

function list(
  value: readonly string[] | undefined,
  field: string,
  refuse: (field: string, message: string) => void,
): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return [...new Set(value)];
  refuse(field, 'give an array of strings');
  return [];
}
