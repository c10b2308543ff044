import { isDeepStrictEqual } from 'node:util';

import type { Client, ClientChanges, ClientFields, Gate } from '../contracts/index.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import type { FieldError, FieldErrorCode, FieldErrorParameters } from '../errors.ts';
import { checkLifetimes } from './lifetimes.ts';
import type { AddMistake, CompleteLifetimes } from './lifetimes.ts';
import { checkClientKeys } from './public-keys.ts';

/** The configuration of the server that a client is checked against. `undefined`: not known, so that any value is accepted. */
export interface KnownNames {
  readonly gate: Pick<Gate, 'has' | 'roles'> | undefined;
  readonly scopes: ReadonlyMap<string, unknown> | undefined;
  /** The lifetimes of the server, which are the longest for a client. */
  readonly lifetimes: CompleteLifetimes | undefined;
  /** Whether clients may authenticate with keys. */
  readonly privateKeyJwt: boolean | undefined;
  /** Whether the server authorizes devices. @default not known */
  readonly authorizesDevices?: boolean | undefined;
}

// Control characters, and format characters such as the Unicode bidi controls, which change how the text around them is
// displayed.
const UNSAFE_IN_NAME = /[\p{Cc}\p{Cf}]/u;

/**
 * Checks all fields of a client and fills in the defaults.
 *
 * @param registered - the stored client, when it is changed
 * @throws ClientInvalidError with one entry per mistake
 */
export function checkClientFields(
  given: ClientFields,
  { authorizesDevices, gate, lifetimes: server, privateKeyJwt, scopes }: KnownNames,
  registered?: Pick<Client, 'keys' | 'lifetimes' | 'redirectUris'>,
): Omit<Client, 'id' | 'registration' | 'createdAt' | 'updatedAt' | 'disabled' | 'disabledBy'> {
  const mistakes: FieldError[] = [];
  const addMistake: AddMistake = (...mistake) => void mistakes.push(fieldError(...mistake));
  // A caller in JavaScript can leave the argument out.
  const fields: Partial<ClientFields> = given ?? {};
  for (const field of Object.keys(fields)) if (!FIELDS.has(field)) addMistake(field, 'unknown_field');
  const { confidential = true, firstParty = false, native = false, grantType, ownerId } = fields;
  const redirectUris = list(fields.redirectUris, 'redirectUris', addMistake);
  const roles = list(fields.roles, 'roles', addMistake);
  const permissions = list(fields.permissions, 'permissions', addMistake);
  const allowed = fields.scopes === undefined ? undefined : list(fields.scopes, 'scopes', addMistake);
  const name = typeof fields.name === 'string' ? fields.name.trim() : '';
  const lifetimes = checkLifetimes(
    fields.lifetimes,
    { grantType, server, registered: registered?.lifetimes },
    addMistake,
  );

  const keys = checkClientKeys(fields.keys, addMistake);

  if (keys && privateKeyJwt === false && !isDeepStrictEqual(keys, registered?.keys))
    addMistake('keys', 'keys_not_accepted');
  if (fields.keys !== undefined && !confidential) addMistake('keys', 'keys_of_public_client');
  if (name === '' || name.length > LONGEST_NAME) addMistake('name', 'name_length', { most: LONGEST_NAME });
  if (UNSAFE_IN_NAME.test(name)) addMistake('name', 'control_characters');
  for (const [field, value] of Object.entries({ confidential, firstParty, native })) {
    if (typeof value !== 'boolean') addMistake(field, 'not_boolean');
  }
  if (ownerId !== undefined && !isUserId(ownerId)) addMistake('ownerId', 'user_id');
  for (const scope of allowed ?? [])
    if (scopes?.has(scope) === false) addMistake('scopes', 'unknown_scope', { name: scope });

  if (redirectUris.length > MOST_REDIRECT_URIS)
    addMistake('redirectUris', 'too_many_redirect_uris', { most: MOST_REDIRECT_URIS });
  if (grantType === 'authorization_code') {
    // That of a client whose metadata document is not valid any more is empty.
    if (redirectUris.length === 0 && registered?.redirectUris.length !== 0)
      addMistake('redirectUris', 'redirect_uri_missing');
    redirectUris.forEach((uri, index) => {
      const mistake = redirectUriMistake(uri, { native });
      // Redirect URIs that were registered before http was refused stay valid, also when other fields of the client are
      // changed.
      if (mistake?.[0] === 'uri_insecure' && registered?.redirectUris.includes(uri)) return;
      if (mistake) addMistake(`redirectUris[${index}]`, ...mistake);
    });
    if (native && confidential) addMistake('native', 'native_with_secret');
    for (const field of ['roles', 'permissions'] as const) {
      if ((fields[field] ?? []).length > 0) addMistake(field, 'client_credentials_only');
    }
  } else if (grantType === 'client_credentials') {
    if (redirectUris.length > 0) addMistake('redirectUris', 'redirect_uri_unused');
    if (!confidential) addMistake('confidential', 'secret_required');
    if (native || firstParty) addMistake(native ? 'native' : 'firstParty', 'authorization_code_only');
    for (const role of roles)
      if (gate && !Object.hasOwn(gate.roles, role)) addMistake('roles', 'unknown_role', { name: role });
    for (const permission of permissions) {
      if (gate?.has(permission) === false)
        addMistake('permissions', 'unknown_permission', { name: permission });
    }
  } else if (grantType === 'device_code') {
    if (authorizesDevices === false && !registered) addMistake('grantType', 'device_code_off');
    if (redirectUris.length > 0) addMistake('redirectUris', 'redirect_uri_unused');
    // Anybody can begin a request of a device, so each is asked about, also that of the platform's own app.
    if (native || firstParty) addMistake(native ? 'native' : 'firstParty', 'authorization_code_only');
    for (const field of ['roles', 'permissions'] as const) {
      if ((fields[field] ?? []).length > 0) addMistake(field, 'client_credentials_only');
    }
  } else {
    addMistake('grantType', 'grant_type_unknown');
  }
  if (mistakes.length > 0 || grantType === undefined) throw new ClientInvalidError(mistakes);
  return {
    name,
    grantType,
    redirectUris,
    confidential,
    keys,
    native,
    firstParty,
    scopes: allowed,
    roles,
    permissions,
    ownerId,
    lifetimes,
  };
}

/**
 * Checks a client with some of its fields changed.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function checkClientChanges(
  client: Client,
  changes: ClientChanges,
  names: KnownNames,
): Partial<Client> {
  const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, ...rest } = client;
  const { disabled: _disabled, disabledBy: _disabledBy, registration: _registration, ...fields } = rest;
  // `changes` may be a copy of the whole client, so that unchanged fields, such as the grant type, are no mistake.
  const changed = Object.entries(changes ?? {}).filter(
    ([field, value]) => !isDeepStrictEqual(value, client[field as keyof Client]),
  );
  if (changed.some(([field]) => field === 'grantType')) {
    throw new ClientInvalidError([fieldError('grantType', 'grant_type_fixed')]);
  }
  if (client.registration !== 'manual') refuseForUnregistered(client, new Map(changed));
  return checkClientFields({ ...fields, ...Object.fromEntries(changed) }, names, client);
}

const FROM_DOCUMENT = ['name', 'redirectUris', 'confidential', 'keys', 'native'];

/** What nobody can change of a client that nobody registered. @throws ClientInvalidError */
function refuseForUnregistered({ registration }: Client, changed: ReadonlyMap<string, unknown>): void {
  const mistakes = FROM_DOCUMENT.filter(
    (field) => registration === 'metadata_document' && changed.has(field),
  ).map((field) => fieldError(field, 'from_document'));
  if (changed.get('firstParty') === true) mistakes.push(fieldError('firstParty', 'unregistered_first_party'));
  if (changed.has('scopes') && changed.get('scopes') === undefined)
    mistakes.push(fieldError('scopes', 'unregistered_scopes'));
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
}

const FIELDS: ReadonlySet<string> = new Set<keyof ClientFields>([
  'name',
  'grantType',
  'redirectUris',
  'confidential',
  'keys',
  'native',
  'firstParty',
  'scopes',
  'roles',
  'permissions',
  'ownerId',
  'lifetimes',
]);

const LONGEST_NAME = 100;
const MOST_REDIRECT_URIS = 100;

function isUserId(id: unknown): boolean {
  return typeof id === 'string' && id !== '' && id.length <= 255 && !id.includes('\0');
}

function list(
  value: readonly string[] | undefined,
  field: string,
  addMistake: AddMistake,
): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return [...new Set(value)];
  addMistake(field, 'not_strings');
  return [];
}

/** Arguments of `fieldError()`. */
type Mistake = readonly [code: FieldErrorCode, parameters?: FieldErrorParameters];

const LONGEST_REDIRECT_URI = 2000;

// A private-use scheme is a reversed domain name (RFC 8252 section 7.1), which excludes schemes such as `javascript:`.
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;

/**
 * The mistake in a redirect URI; `undefined` when it can be registered (RFC 6749 section 3.1.2, RFC 9700 sections 2.1 and 2.6,
 * RFC 8252 section 7).
 */
function redirectUriMistake(uri: unknown, { native }: { native: boolean }): Mistake | undefined {
  if (typeof uri !== 'string' || uri === '') return ['uri_empty'];
  if (uri.length > LONGEST_REDIRECT_URI) return ['uri_length', { most: LONGEST_REDIRECT_URI }];
  if (/[^\x21-\x7e]/.test(uri)) return ['uri_characters'];
  const url = URL.parse(uri);
  if (!url) return ['uri_relative'];
  if (uri.includes('#')) return ['uri_fragment'];
  if (uri.includes('*')) return ['uri_wildcard'];
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) {
    return ['uri_credentials'];
  }
  if (url.protocol === 'https:' || url.protocol === 'http:') {
    if (!/^https?:\/\/[^/\\]/.test(uri)) return ['uri_form'];
    return native ? nativeWebMistake(url) : webMistake(url);
  }
  if (!native) return ['uri_scheme'];
  return PRIVATE_USE_SCHEME.test(url.protocol) ? undefined : ['uri_private_scheme'];
}

// Over http, the network can read the authorization code, except on a loopback address.
function webMistake({ protocol, hostname }: URL): Mistake | undefined {
  return protocol === 'http:' && !isLoopback(hostname) ? ['uri_insecure'] : undefined;
}

// The engine applies these rules too, and would addMistake every request of a client that breaks them.
function nativeWebMistake({ protocol, hostname }: URL): Mistake | undefined {
  const isEngineLoopback = ENGINE_LOOPBACK.has(hostname);
  if (protocol === 'http:' && !isEngineLoopback) return ['uri_http_host'];
  if (protocol === 'https:' && isEngineLoopback) return ['uri_https_loopback'];
  return undefined;
}

const ENGINE_LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The redirect host that a consent is stored for, and that the consent page shows: the origin of the redirect URI, or the
 * scheme of an installed app. `undefined` for a loopback redirect URI with a port that is not registered: another program may
 * listen on that port the next time, so consent is asked for again (RFC 8252 section 8.6). `undefined` too for every loopback
 * redirect URI of a client that nobody registered: any program can use its id.
 */
export function redirectHost(
  redirectUri: string,
  { redirectUris, registration }: Pick<Client, 'redirectUris' | 'registration'>,
): string | undefined {
  if (!redirectUris.includes(redirectUri)) return undefined;
  const { hostname, origin, protocol } = new URL(redirectUri);
  if (registration !== 'manual' && isLoopback(hostname)) return undefined;
  return origin === 'null' ? protocol : origin;
}

/**
 * Whether another app on the same device could receive the response at a redirect URI. It cannot for a claimed https URI, which
 * the operating system opens in its registered app only (RFC 8252 section 7.2).
 */
export function isOnDevice(redirectUri: string, { native }: Pick<Client, 'native'>): boolean {
  return native && !redirectUri.startsWith('https:');
}
