import type { Client, ClientGrantType, Gate } from '../contracts.ts';
import { ClientInvalidError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { redirectUriMistake } from './redirect-uris.ts';

/** What can be said about a client when it is registered. */
export interface ClientFields<P extends string = string, R extends string = string> {
  /** 1 to 100 characters; people see it on the consent page. */
  readonly name: string;
  /** How it gets tokens; cannot be changed later. */
  readonly grantType: ClientGrantType;
  /** Required for `authorization_code`, refused for `client_credentials`. Matched as exact strings. */
  readonly redirectUris?: readonly string[];
  /** `false`: it cannot keep a secret (browser or installed app), and must use PKCE. @default true */
  readonly confidential?: boolean;
  /** An installed app: loopback redirect URIs match on any port, and schemes of its own are allowed. @default false */
  readonly native?: boolean;
  /** The platform's own: people are not asked for consent. @default false */
  readonly firstParty?: boolean;
  /** The scopes it may ask for. @default all */
  readonly scopes?: readonly string[] | undefined;
  /** For `client_credentials`: its roles. */
  readonly roles?: readonly R[];
  /** For `client_credentials`: what it may do besides its roles. */
  readonly permissions?: readonly P[];
  /** Id of the user who owns it. */
  readonly ownerId?: string | undefined;
}

/** What a client is checked against. */
export interface KnownNames {
  readonly gate: { has(permission: string): boolean; readonly roles: Gate['roles'] };
  readonly scopes: ReadonlyMap<string, unknown>;
}

// Characters that change how the text around them reads (Unicode bidi controls), and control characters.
const UNSAFE_IN_NAME = /[\p{Cc}\p{Cf}]/u;

/**
 * Checks the fields of a client all at once and fills in the defaults.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function checkClientFields(
  fields: ClientFields,
  { gate, scopes }: KnownNames,
): Omit<Client, 'id' | 'createdAt' | 'updatedAt' | 'disabled'> {
  const mistakes: FieldError[] = [];
  const refuse = (field: string, message: string): void => void mistakes.push({ field, message });
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
  if (ownerId !== undefined && (typeof ownerId !== 'string' || ownerId === ''))
    refuse('ownerId', "give a user's id");
  for (const scope of allowed ?? []) if (!scopes.has(scope)) refuse('scopes', `there is no scope "${scope}"`);

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
      if (!Object.hasOwn(gate.roles, role)) refuse('roles', `there is no role "${role}"`);
    for (const permission of permissions) {
      if (!gate.has(permission)) refuse('permissions', `there is no permission "${permission}"`);
    }
  } else {
    refuse('grantType', 'choose authorization_code or client_credentials');
  }
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
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
