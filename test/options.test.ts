import { generateKeyPairSync } from 'node:crypto';

import test from 'ava';
import Koa from 'koa';
import {
  ConfigError,
  createAdministration,
  createApiRouter,
  createAuthServer,
  defineAction,
  defineGate,
  GatehouseError,
  MigrationsPendingError,
} from 'koa-gatehouse';
import type { AuthServer, AuthServerOptions, SigningAlgorithm, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';
import { z } from 'zod';

import { onEachDatabase } from './adapters/databases.ts';
import { temporaryFile } from './adapters/temporary-file.ts';
import { connectHost } from './adapters/host-knex.ts';
import { runCodeFlow, gate, people, recordingLogger, startPlatform } from './harness/platform.ts';
import type { Platform } from './harness/platform.ts';
import { postJson, send } from './harness/requests.ts';
import { serve } from './harness/serve.ts';
import { asClient, requestClientToken } from './harness/tokens.ts';
import { APP_KEY, vectors } from './passport/laravel.ts';

type Given = AuthServerOptions;

/** The required options. */
function required(): Given {
  return {
    issuer: 'https://platform.example',
    users: people(),
    storage: memoryStorage(),
    interactions: pages(),
    gate,
    logger: recordingLogger(),
  };
}

const methods = {
  authenticate: async () => undefined,
  find: async () => undefined,
  permissions: async () => [],
};
class UsersOfClass {
  authenticate = methods.authenticate;
  find = methods.find;
  async role(): Promise<string[]> {
    return [];
  }
}
const RANDOM = 'f3a1b07c9e5d4268a1b07c9e5d4268f3';

const API = 'https://api.example/v1';

function resourceMistake(remedy: string): (resource: string) => (typeof mistakes)[number] {
  return (resource) => [{ resources: { [resource]: {} } }, `resources['${resource}']`, remedy];
}

const allow = (): boolean => true;

const PASSPORT = {
  publicKey: vectors.rsa_public_key_pem,
  source: { findAccessToken: async () => undefined },
  until: '2119-12-31',
};
const WRONG_PUBLIC_KEY =
  'give the text of storage/oauth-public.key or PASSPORT_PUBLIC_KEY, an RSA key of at least 2048 bits, or a list of such keys';
const WRONG_APP_KEY =
  'give APP_KEY as it is in .env, with base64: in front, or a list of at most 3, the newest first';
const WRONG_SOURCE = 'pass passportSource(knex) from koa-gatehouse/adapters/knex';

function pem(kind: 'ed25519' | 'rsa', modulusLength = 2048): string {
  const { publicKey } =
    kind === 'rsa' ? generateKeyPairSync(kind, { modulusLength }) : generateKeyPairSync(kind);
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}

/** The options, the option that the error names, and its message. */
const mistakes: [given: Record<string, unknown>, option: string, remedy: string | RegExp][] = [
  ...[
    ['privateKeyJwt', 'clients.keys'],
    ['deviceAuthorization', 'clients.devices'],
    ['dynamicRegistration', 'clients.registration'],
    ['keyEncryptionKey', 'secrets.keyEncryptionKey'],
    ['loginUrl', 'login.url'],
    ['maxBodyBytes', 'limits.bodyBytes'],
    ['mountPath', 'paths.mount'],
    ['refreshgrace', 'tokens.refreshGrace'],
    ['signingAlgorithm', 'tokens.algorithm'],
  ].map(([name = '', place]): (typeof mistakes)[number] => [
    { [name]: 1 },
    name,
    new RegExp(`^there is no such option; did you mean ${place}\\? The options are issuer, users, `),
  ]),
  [{ nonsense: 1 }, 'nonsense', /^there is no such option; the options are issuer, users, storage, /],
  [
    { Issuer: 'https://x.example' },
    'Issuer',
    /^there is no such option; did you mean issuer\? The options are issuer, /,
  ],
  [
    { tokens: { personal: 'yes' } },
    'tokens.personal',
    "give true, or an object such as { maxLifetime: '90 days' }",
  ],
  [
    { tokens: { personal: { maxLifetime: '2 years' } } },
    'tokens.personal.maxLifetime',
    'give at most 31536000 s',
  ],
  // Users choose a number of days.
  ...(['23 hours', 86_399, 0] as const).map((maxLifetime): (typeof mistakes)[number] => [
    { tokens: { personal: { maxLifetime } } },
    'tokens.personal.maxLifetime',
    "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least 86400 s",
  ]),
  [
    { tokens: { personal: true }, login: { url: '/login', currentUser: () => undefined } },
    'login.authenticatedAt',
    'pass a function that returns when the user of the request has logged in at login.url: personal access tokens (tokens.personal) are created after a fresh login only',
  ],
  [{ refreshGarce: 60 }, 'refreshGarce', /^there is no such option; did you mean tokens\.refreshGrace\? /],

  ...[
    undefined,
    null,
    '',
    5,
    'platform.example',
    'https://',
    'localhost:3000',
    'ftp://x.example',
    new URL('https://platform.example'),
  ].map((issuer): (typeof mistakes)[number] => [
    { issuer },
    'issuer',
    "give the server's base URL as a string, such as https://platform.example",
  ]),
  ...[
    'https://x.example/?a=1',
    'https://x.example?',
    'https://x.example/#a',
    'https://ann@x.example',
    'https://:pw@x.example',
  ].map((issuer): (typeof mistakes)[number] => [
    { issuer },
    'issuer',
    'leave out query, fragment and credentials (RFC 8414 section 2), such as https://platform.example',
  ]),
  ...[
    'http://x.example',
    'http://localhost.x.example',
    'http://0.0.0.0:3000',
    'http://10.0.0.1',
    'http://127.0.0.1.x.example',
  ].map((issuer): (typeof mistakes)[number] => [
    { issuer },
    'issuer',
    `use https; http is accepted for loopback addresses only, not for ${new URL(issuer).host}`,
  ]),

  ...[null, '', 'auth', 5, './auth', '/a?b', '/a#b', '/a b', 'https://x.example/auth'].map(
    (mountPath): (typeof mistakes)[number] => [
      { paths: { mount: mountPath } },
      'paths.mount',
      "give a path that starts with a slash, such as '/auth', or '/' when a proxy removes the issuer's path",
    ],
  ),

  ...[
    undefined,
    null,
    5,
    {},
    { ...methods, find: undefined },
    { ...methods, authenticate: 1 },
    { find: methods.find },
  ].map((users): (typeof mistakes)[number] => [
    { users },
    'users',
    'pass an object with the methods authenticate(login, password) and find(id)',
  ]),
  [{ users: { ...methods, roles: ['registrar'] } }, 'users', /roles\(user\)/],
  ...['permission', 'permisions', 'Permissions'].map((name): (typeof mistakes)[number] => [
    { users: { ...methods, permissions: undefined, [name]: methods.permissions } },
    `users.${name}`,
    'name the method permissions(user), or pass an object without it if roles and permissions are stored by this server',
  ]),
  [{ users: new UsersOfClass() }, 'users.role', /^name the method roles\(user\), /],
  [{ tokens: { claims: { tenant: 'north' } } }, 'tokens.claims', 'pass a function, or leave it out'],
  [{ migrate: 'always' }, 'migrate', 'pass true or false'],

  [{ clients: { agents: 'yes' } }, 'clients.agents', /^pass true, or the URLs of the APIs for agents/],
  [{ clients: { agents: [] } }, 'clients.agents', /^pass true, or the URLs of the APIs for agents/],
  [
    { clients: { agents: ['https://x.example/mcp'] } },
    'clients.agents',
    'the option resources has no API with the URL https://x.example/mcp',
  ],
  [
    { clients: { agents: true } },
    'clients.agents',
    /^name the API of the agents and its scopes in the option resources, such as /,
  ],
  [{ clients: { registration: true } }, 'clients.registration', /^pass an object with some of scopes, /],
  [{ clients: { registration: { scope: [] } } }, 'clients.registration.scope', /^there is no such option/],
  [
    { clients: { registration: {} } },
    'clients.registration.scopes',
    "list the names of the scopes, such as ['schools:read']",
  ],
  [
    { clients: { registration: { scopes: 'read' } } },
    'clients.registration.scopes',
    /^list the names of the scopes/,
  ],
  [
    { clients: { registration: { scopes: ['read'] } } },
    'clients.registration.scopes',
    '"read" is no scope that can be listed here; there are none',
  ],
  [
    { clients: { registration: { scopes: [], defaultScopes: ['read'] } } },
    'clients.registration.defaultScopes',
    '"read" is no scope that can be listed here; there are none',
  ],
  [
    { clients: { registration: { scopes: [], initialAccessTokens: ['short'] } } },
    'clients.registration.initialAccessTokens',
    'give random strings of at least 32 characters, newest first',
  ],
  [
    { clients: { registration: { scopes: [], allow: true } } },
    'clients.registration.allow',
    'pass a function, or leave it out',
  ],
  ...['maxClients', 'perAddress'].map((name): (typeof mistakes)[number] => [
    { clients: { registration: { scopes: [], [name]: 0 } } },
    `clients.registration.${name}`,
    'give a whole number of at least 1',
  ]),
  [
    { clients: { registration: { scopes: [], unauthorizedAfter: '10 minutes' } } },
    'clients.registration.unauthorizedAfter',
    /at least 3600 s$/,
  ],
  [
    { clients: { registration: { scopes: [], unusedAfter: '1 hour' } } },
    'clients.registration.unusedAfter',
    /at least 86400 s$/,
  ],
  [
    { clients: { documents: true } },
    'clients.documents',
    'pass an object with some of allow, scopes, defaultScopes, loopback',
  ],
  [
    { clients: { documents: { allow, scopes: [], loopback: true } } },
    'clients.documents.loopback',
    /^leave it out: it is for trying an app on one machine/,
  ],
  [
    { clients: { documents: { scopes: [] } } },
    'clients.documents.allow',
    /^pass a function that decides which apps may connect/,
  ],
  [
    { clients: { documents: { allow: true, scopes: [] } } },
    'clients.documents.allow',
    /^pass a function that decides which apps may connect/,
  ],
  [
    { clients: { documents: { allow } } },
    'clients.documents.scopes',
    "list the names of the scopes, such as ['schools:read']",
  ],
  [
    { clients: { documents: { allow, scopes: ['read'] } } },
    'clients.documents.scopes',
    '"read" is no scope that can be listed here; there are none',
  ],
  [
    {
      scopes: {
        read: { description: 'Read', permissions: [] },
        write: { description: 'Write', permissions: [] },
      },
      clients: { documents: { allow, scopes: ['read'], defaultScopes: ['write'] } },
    },
    'clients.documents.defaultScopes',
    '"write" is no scope that can be listed here; there are read',
  ],
  [
    { clients: { documents: { allow, scopes: [], scope: 'read' } } },
    'clients.documents.scope',
    'there is no such option; did you mean scopes? The options are allow, scopes, defaultScopes, loopback',
  ],

  ...[null, [], 'https://api.example', new Map()].map((resources): (typeof mistakes)[number] => [
    { resources },
    'resources',
    "give an object with the APIs by URL, such as { 'https://api.example/v1': { scopes } }",
  ]),
  ...['api', '/v1', 'https://', 'https://api.example/a b', 'https://api.example/"'].map(
    resourceMistake('give the URL of the API as the key, such as https://api.example/v1'),
  ),
  ...[
    'https://api.example/?a=1',
    'https://api.example?',
    'https://api.example/#a',
    'https://ann@api.example',
  ].map(resourceMistake('leave out query, fragment and credentials (RFC 9728 section 1.2)')),
  ...['http://api.example', 'urn:api', 'ftp://api.example'].map(
    resourceMistake('use https; http is accepted for loopback addresses only'),
  ),
  ...['https://platform.example', 'https://platform.example/', 'HTTPS://Platform.Example:443'].map(
    resourceMistake('the issuer is the default API; give its scopes in the option scopes'),
  ),
  [
    { resources: { 'https://api.example': {}, 'https://api.example/': {} } },
    "resources['https://api.example/']",
    'another entry has the same URL; give each API once',
  ],
  [
    { resources: { [API]: null } },
    `resources['${API}']`,
    'pass an object with some of name, scopes, lifetimes, refreshGrace',
  ],
  [
    { resources: { [API]: { audience: API } } },
    `resources['${API}'].audience`,
    'there is no such option; the options are name, scopes, lifetimes, refreshGrace',
  ],
  ...['', ' ', 5].map((name): (typeof mistakes)[number] => [
    { resources: { [API]: { name } } },
    `resources['${API}'].name`,
    'give the name that users know the API by, such as "Documents"',
  ]),
  [
    { resources: { [API]: { scopes: { read: { description: '', permissions: [] } } } } },
    `resources['${API}'].scopes.read.description`,
    /^describe in a sentence/,
  ],
  [
    { resources: { [API]: { scopes: { read: { description: 'Read', permissions: ['gone'] } } } } },
    `resources['${API}'].scopes.read.permissions`,
    '"gone" is not a permission of the gate',
  ],
  [
    { resources: { [API]: { lifetimes: { session: 5 } } } },
    `resources['${API}'].lifetimes.session`,
    'there is no such option; the options are accessToken, refreshToken, refreshTokenAbsolute',
  ],
  [
    { tokens: { lifetimes: 'short' }, resources: { [API]: { lifetimes: { accessToken: '2 hours' } } } },
    `resources['${API}'].lifetimes.accessToken`,
    'at most tokens.lifetimes.accessToken, which is 3600 s',
  ],

  ...[null, 5, 'ann', {}].map((currentUser): (typeof mistakes)[number] => [
    { login: { currentUser } },
    'login.currentUser',
    'pass a function, or leave it out',
  ]),

  [{ login: { signOut: '/logout' } }, 'login.signOut', 'pass a function, or leave it out'],
  ...[null, 5, '', 'login', 'javascript:alert(1)', 'mailto:ann@x.example'].map(
    (loginUrl): (typeof mistakes)[number] => [
      { login: { url: loginUrl, currentUser: () => undefined } },
      'login.url',
      "give a path or URL of the host's login page, such as '/login'",
    ],
  ),
  [
    { login: { url: '/login' } },
    'login.url',
    'also pass login.currentUser, which returns the user who has logged in there',
  ],

  ...[undefined, null, 5, {}, 'sqlite:data.db', memoryStorage, knexStorage, { grants: { redeem() {} } }].map(
    (storage): (typeof mistakes)[number] => [
      { storage },
      'storage',
      'pass knexStorage(knex) from koa-gatehouse/adapters/knex, or memoryStorage() from koa-gatehouse/adapters/memory for tests and first steps',
    ],
  ),

  ...[null, 5, {}, 'pages', () => undefined, () => ({}), () => ({ error() {} }), async () => ({})].map(
    (interactions): (typeof mistakes)[number] => [
      { interactions },
      'interactions',
      'pass pages() from koa-gatehouse/interactions or a function of your own, or leave it out',
    ],
  ),
  [{ interactions: pages }, 'interactions', 'pass the result of pages(), not the function pages itself'],

  ...[null, 5, {}, defineGate, { permissions: { view_schools: 'View schools' } }].map(
    (wrong): (typeof mistakes)[number] => [
      { gate: wrong },
      'gate',
      'pass defineGate({ permissions, roles }), or leave it out',
    ],
  ),

  ...[null, 5, 'schools:read', ['schools:read'], new Map(), () => ({})].map(
    (scopes): (typeof mistakes)[number] => [
      { scopes },
      'scopes',
      "give an object with the scopes by name, such as { 'schools:read': { description, permissions } }",
    ],
  ),
  ...['a b', 'a"b', 'a\\b', '', 'é', 'a\n'].map((name): (typeof mistakes)[number] => [
    { scopes: { [name]: { description: 'See', permissions: [] } } },
    `scopes.${name}`,
    'a scope name has no spaces, quotes or backslashes (RFC 6749 section 3.3)',
  ]),
  ...['openid', 'offline_access'].map((name): (typeof mistakes)[number] => [
    { scopes: { [name]: { description: 'See', permissions: [] } } },
    `scopes.${name}`,
    /^this name belongs to OpenID Connect/,
  ]),
  ...[{}, { description: ' ' }, { description: 5 }].map((scope): (typeof mistakes)[number] => [
    { scopes: { read: scope } },
    'scopes.read.description',
    'describe in a sentence what users agree to, such as "See your schools"',
  ]),
  ...[undefined, null, 'view_schools', {}].map((permissions): (typeof mistakes)[number] => [
    { scopes: { read: { description: 'See', permissions } } },
    'scopes.read.permissions',
    'list the permissions that a token with this scope is limited to',
  ]),
  ...[1, 'yes', null].map((optional): (typeof mistakes)[number] => [
    { scopes: { read: { description: 'See', permissions: [], optional } } },
    'scopes.read.optional',
    'pass true or false',
  ]),
  [
    { scopes: { read: { description: 'See', permissions: [], title: 'Schools' } } },
    'scopes.read.title',
    'there is no such option; the options are description, permissions, optional',
  ],
  [
    { scopes: { read: { description: 'See', permissions: ['view_schools', 'veiw_schools'] } } },
    'scopes.read.permissions',
    '"veiw_schools" is not a permission of the gate',
  ],

  ...['reference', '', 'constructor', 'Reference'].map((lifetimes): (typeof mistakes)[number] => [
    { tokens: { lifetimes } },
    'tokens.lifetimes',
    'choose long or short',
  ]),
  [{ tokens: { lifetimes: { preset: 'reference' } } }, 'tokens.lifetimes.preset', 'choose long or short'],
  ...[null, 5, 3600, true, [], ['short'], () => 'short'].map((lifetimes): (typeof mistakes)[number] => [
    { tokens: { lifetimes } },
    'tokens.lifetimes',
    /^give a preset, long or short, or single lifetimes such as \{ accessToken: '1 hour' \}$/,
  ]),
  [
    { tokens: { lifetimes: { accesToken: 5 } } },
    'tokens.lifetimes.accesToken',
    /^there is no such option; did you mean accessToken\? /,
  ],
  ...[
    null,
    0,
    -1,
    1.5,
    Infinity,
    NaN,
    '',
    'a year',
    '1',
    '1 fortnight',
    '-1 hour',
    '1  hour',
    '1 Hour',
    '0.3 s',
    60n,
    [60],
    '9999999999 years',
  ].map((accessToken): (typeof mistakes)[number] => [
    { tokens: { lifetimes: { accessToken } } },
    'tokens.lifetimes.accessToken',
    "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least 1 s",
  ]),
  [
    { tokens: { lifetimes: { accessToken: 3_600_000_000 } } },
    'tokens.lifetimes.accessToken',
    'give at most 10 years; a number is in seconds',
  ],
  [
    { resources: { [API]: { lifetimes: { refreshToken: '11 years' } } } },
    `resources['${API}'].lifetimes.refreshToken`,
    'give at most 10 years; a number is in seconds',
  ],
  [
    { tokens: { lifetimes: { authorizationCode: '11 minutes' } } },
    'tokens.lifetimes.authorizationCode',
    'a code lives 10 minutes at most (RFC 6749 section 4.1.2)',
  ],

  ...[null, 'none', 'HS256', 'es256', '', 5].map((signingAlgorithm): (typeof mistakes)[number] => [
    { tokens: { algorithm: signingAlgorithm } },
    'tokens.algorithm',
    'choose ES256, RS256 or EdDSA',
  ]),
  ...[null, RANDOM, [], ['short'], [RANDOM, 'short'], [5]].map((cookieKeys): (typeof mistakes)[number] => [
    { secrets: { cookieKeys } },
    'secrets.cookieKeys',
    'give random strings of at least 32 characters, newest first',
  ]),
  ...[null, true, 'short', [], ['short'], [false], 5, {}].map(
    (keyEncryptionKey): (typeof mistakes)[number] => [
      { secrets: { keyEncryptionKey } },
      'secrets.keyEncryptionKey',
      'give random strings of at least 32 characters, newest first',
    ],
  ),
  ...[null, 0, 0.5, 'soon', '0.5 s'].map((revocationLag): (typeof mistakes)[number] => [
    { tokens: { revocationLag } },
    'tokens.revocationLag',
    "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least 1 s",
  ]),
  ...[null, 0, -1, 1.5, '10', Infinity].map((cachedTokens): (typeof mistakes)[number] => [
    { tokens: { cached: cachedTokens } },
    'tokens.cached',
    'give a whole number of at least 1',
  ]),
  ...(
    [
      ['tokens', 'refreshGrace'],
      ['tokens', 'keyRotation'],
      ['retention', 'pruneInterval'],
      ['retention', 'audit'],
    ] as const
  ).flatMap(([group, option]) =>
    [null, -1, 'never', false].map((value): (typeof mistakes)[number] => [
      { [group]: { [option]: value } },
      `${group}.${option}`,
      "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least 0 s",
    ]),
  ),
  ...['account', 'developer'].flatMap((option) =>
    ['/oauth', '/oauth/apps', '/OAuth/apps', '/.well-known', '/.well-known/apps', '/../oauth']
      .concat(['', '/', 'apps', '/apps/', '//apps', '/apps?x', '/a b'])
      .map((value): (typeof mistakes)[number] => [
        { paths: { [option]: value } },
        `paths.${option}`,
        /^give a path such as '\/account\/apps', outside \/oauth and \/\.well-known and /,
      ]),
  ),
  ...[null, 'yes', 'true', 1, 0].map((trustProxy): (typeof mistakes)[number] => [
    { trustProxy },
    'trustProxy',
    'pass true or false',
  ]),
  ...[null, true, 5, 'strict', []].map((throttling): (typeof mistakes)[number] => [
    { limits: { attempts: throttling } },
    'limits.attempts',
    'pass an object with some of login, clientAuthentication, userCodes, deviceRequests, or false for none',
  ]),
  [
    { limits: { attempts: { logins: {} } } },
    'limits.attempts.logins',
    /^there is no such option; did you mean login\? /,
  ],
  [
    { limits: { attempts: { login: true } } },
    'limits.attempts.login',
    /^pass an object with some of perAccountAndAddress, /,
  ],
  [
    { limits: { attempts: { login: { perUser: 5 } } } },
    'limits.attempts.login.perUser',
    /; the options are perAccountAndAddress, /,
  ],
  ...[null, 0, -1, 1.5, '5', Infinity].map((perAddress): (typeof mistakes)[number] => [
    { limits: { attempts: { clientAuthentication: { perAddress } } } },
    'limits.attempts.clientAuthentication.perAddress',
    'give a whole number of at least 1',
  ]),
  [
    { limits: { attempts: { userCodes: { perDevice: 5 } } } },
    'limits.attempts.userCodes.perDevice',
    /; the options are perUser, perAddress, window$/,
  ],
  [
    { limits: { attempts: { deviceRequests: { perClient: 0 } } } },
    'limits.attempts.deviceRequests.perClient',
    /at least 1$/,
  ],
  ...[null, 1, 'yes', []].map((deviceAuthorization): (typeof mistakes)[number] => [
    { clients: { devices: deviceAuthorization } },
    'clients.devices',
    "give true, or an object such as { lifetime: '10 minutes' }",
  ]),
  [{ clients: { devices: { ttl: 5 } } }, 'clients.devices.ttl', /^there is no such option; the options are/],
  [{ clients: { devices: { lifetime: 59 } } }, 'clients.devices.lifetime', /at least 60 s$/],
  [{ clients: { devices: { lifetime: '1 hour' } } }, 'clients.devices.lifetime', 'give at most 1800 s'],
  [{ clients: { devices: { interval: 0 } } }, 'clients.devices.interval', /at least 1 s$/],
  [{ clients: { devices: { interval: 61 } } }, 'clients.devices.interval', 'give at most 60 s'],
  [{ limits: { attempts: { login: { window: 0 } } } }, 'limits.attempts.login.window', /at least 1 s$/],
  [{ limits: { attempts: { login: { perDevice: 0 } } } }, 'limits.attempts.login.perDevice', /at least 1$/],
  [
    { limits: { attempts: { login: { deviceLifetime: 0 } } } },
    'limits.attempts.login.deviceLifetime',
    /at least 1 s$/,
  ],
  [
    { limits: { attempts: { login: { deviceLifetime: '401 days' } } } },
    'limits.attempts.login.deviceLifetime',
    'give at most 400 days: browsers store no cookie for longer',
  ],
  ...[null, {}, 5].map((logger): (typeof mistakes)[number] => [
    { logger },
    'logger',
    'pass an object with debug, info, warn and error, as pino has; debug is missing',
  ]),
  [{ logger: { ...recordingLogger(), warn: undefined } }, 'logger', /; warn is missing$/],
  ...(
    [
      [{ publicKey: undefined }, 'publicKey', WRONG_PUBLIC_KEY],
      [{ publicKey: [] }, 'publicKey', WRONG_PUBLIC_KEY],
      [{ publicKey: 'storage/oauth-public.key' }, 'publicKey', WRONG_PUBLIC_KEY],
      [{ publicKey: [vectors.rsa_public_key_pem, pem('rsa', 1024)] }, 'publicKey', WRONG_PUBLIC_KEY],
      [{ publicKey: pem('ed25519') }, 'publicKey', WRONG_PUBLIC_KEY],
      [
        { publicKey: vectors.rsa_private_key_pem },
        'publicKey',
        'this is the private key; give the public one, oauth-public.key',
      ],
      [{ appKey: 'base64:c2hvcnQ=' }, 'appKey', WRONG_APP_KEY],
      [{ appKey: Array<string>(4).fill(APP_KEY) }, 'appKey', WRONG_APP_KEY],
      [{ source: 'mysql://laravel@db.example/laravel' }, 'source', WRONG_SOURCE],
      [{ source: undefined }, 'source', WRONG_SOURCE],
      ...[undefined, '30.06.2027', '2027-06-30T12:00', '2027-13-01', 1_800_000_000, new Date('never')].map(
        (until) =>
          [{ until }, 'until', "give a date such as '2027-06-30', which begins in UTC, or a Date"] as const,
      ),
      [{ appkey: APP_KEY }, 'appkey', /^there is no such option; did you mean appKey\? /],
    ] as const
  ).map(([given, name, remedy]): (typeof mistakes)[number] => [
    { passport: { ...PASSPORT, ...given } },
    `passport.${name}`,
    remedy,
  ]),
];

for (const [given, option, remedy] of mistakes) {
  const [name, value] = Object.entries(given)[0]!;
  test(`a wrong option is a ConfigError with the remedy: ${name} ${show(value).slice(0, 80)} (${option} ${mistakes.findIndex((one) => one[0] === given)})`, async (t) => {
    const error = await t.throwsAsync(createAuthServer({ ...required(), ...given }), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
    });
    t.is(error.option, option);
    t.true(error instanceof GatehouseError);
    t.is(error.name, 'ConfigError');
    const { message } = error;
    t.true(message.startsWith(`${option}: `), message);
    const said = message.slice(option.length + 2);
    if (typeof remedy === 'string') t.is(said, remedy);
    else t.regex(said, remedy);
  });
}

function show(value: unknown): string {
  if (typeof value === 'function') return String(value).slice(0, 60);
  return value instanceof Map || value instanceof URL
    ? value.constructor.name
    : (JSON.stringify(value, (_key, one: unknown) =>
        typeof one === 'bigint' ? `${one}n` : typeof one === 'number' ? String(one) : one,
      ) ?? 'undefined');
}

for (const options of [undefined, null, 5, 'https://platform.example', []]) {
  test(`options that are no object: ${JSON.stringify(options) ?? 'undefined'}`, async (t) => {
    const error = await t.throwsAsync(createAuthServer(options as unknown as Given), { code: 'ERR_CONFIG' });
    t.regex(error?.message ?? '', /^options: pass an object with some of issuer, users, storage, /);
  });
}

test('an option that createAdministration() does not have is named, with the remedy', (t) => {
  t.throws(() => Reflect.apply(createAdministration, undefined, [{ storage: memoryStorage(), scope: {} }]), {
    instanceOf: ConfigError,
    message:
      'scope: there is no such option; did you mean scopes? The options are storage, scopes, resources, openid, secrets, logger, retention, gate, tokens',
  });
});

const accepted: [given: Record<string, unknown>, expected: Record<string, unknown>][] = [
  [{ issuer: 'https://platform.example/' }, { issuer: 'https://platform.example' }],
  [{ issuer: 'https://platform.example/auth/' }, { issuer: 'https://platform.example/auth' }],
  [{ issuer: 'HTTPS://Platform.Example:443/Auth' }, { issuer: 'https://platform.example/Auth' }],
  [{ issuer: 'http://localhost:3000' }, { issuer: 'http://localhost:3000' }],
  [{ issuer: 'http://[::1]:3000' }, { issuer: 'http://[::1]:3000' }],
  [{ issuer: 'http://127.0.0.1' }, { issuer: 'http://127.0.0.1' }],
  [
    {
      paths: { mount: undefined },
      scopes: undefined,
      tokens: { lifetimes: undefined },
      trustProxy: undefined,
      logger: undefined,
      interactions: undefined,
      gate: undefined,
      migrate: undefined,
    },
    {},
  ],
  [{ tokens: { lifetimes: { preset: undefined, accessToken: undefined } } }, {}],
  [{ scopes: {} }, {}],
  [{ login: { url: '/login', currentUser: () => undefined } }, {}],
  [{ login: { url: 'https://id.example/login?x=1', currentUser: () => undefined } }, {}],
  [{ logger: console }, {}],
  [{ secrets: { cookieKeys: [RANDOM, RANDOM] } }, {}],
  [{ secrets: { keyEncryptionKey: RANDOM } }, {}],
  [{ secrets: { keyEncryptionKey: false } }, {}],
  [
    {
      tokens: { refreshGrace: 0, keyRotation: 0, revocationLag: 1 },
      retention: { pruneInterval: 0, audit: 0 },
    },
    {},
  ],
  [{ tokens: { cached: 1 } }, {}],
  [{ trustProxy: true }, {}],
  [{ limits: { attempts: false } }, {}],
  [{ limits: { attempts: { login: false, clientAuthentication: undefined } } }, {}],
  [{ limits: { attempts: { login: { perAccount: 50, window: '1 hour' } } } }, {}],
];

for (const [given, expected] of accepted) {
  test(`accepted: ${show(given)}`, async (t) => {
    const auth = await createAuthServer({ ...required(), ...given });
    t.like(auth, { issuer: 'https://platform.example', ...expected });
    await auth.close();
  });
}

/** A memory storage without a store, or without a method of one. */
function storageWithout(member: string): Storage {
  const [name, method] = member.split('.') as [keyof Storage, string | undefined];
  const { [name]: store, ...others } = memoryStorage();
  return { ...others, ...(method && { [name]: { ...(store as object), [method]: undefined } }) } as Storage;
}

const developers = defineGate({ permissions: { manage_apps: 'Manage apps' } });
const featuresOfStorage: readonly [option: string, member: string, on: object, off: object][] = [
  ['users', 'assignments', { users: { authenticate: methods.authenticate, find: methods.find } }, {}],
  ['retention.audit', 'audit', {}, { retention: { audit: 0 } }],
  [
    'paths.developer',
    'idempotency.begin',
    { gate: developers },
    { gate: developers, paths: { developer: false } },
  ],
  ['tokens.personal', 'personalTokens', { tokens: { personal: true } }, {}],
  ['clients.devices', 'deviceCodes', { clients: { devices: true } }, {}],
  ['clients.devices', 'deviceCodes.deny', { clients: { devices: true } }, {}],
  ['clients.registration', 'registrations.insert', { clients: { registration: { scopes: [] } } }, {}],
  ['clients.keys', 'clients.redeemAssertion', { clients: { keys: true } }, {}],
  ['openid', 'logouts', { openid: true }, {}],
  ['openid', 'logouts.take', { openid: true }, {}],
];
for (const [option, member, on, off] of featuresOfStorage) {
  test(`${option} with a storage without ${member} is refused at start, and without ${option} it starts`, async (t) => {
    const options = { ...required(), users: methods, storage: storageWithout(member) };
    await (await createAuthServer({ ...options, ...off })).close();
    await t.throwsAsync(createAuthServer({ ...options, ...on }), {
      code: 'ERR_CONFIG',
      message: `${option}: this needs a storage with the member ${member}`,
    });
  });
}

test('a storage that lacks what every server needs is refused at start, with all that it lacks', async (t) => {
  const { consents, ...others } = memoryStorage();
  t.is(typeof consents.find, 'function');
  const storage = { ...others, keys: { ...others.keys, replaceMaterial: undefined } } as never;
  await t.throwsAsync(createAuthServer({ ...required(), storage }), {
    code: 'ERR_CONFIG',
    message: 'storage: add the members consents, keys.replaceMaterial',
  });
  t.throws(() => createAdministration({ storage }), {
    code: 'ERR_CONFIG',
    message: /^storage: add the members/,
  });
  t.throws(() => createAdministration({ storage: storageWithout('audit') }), {
    code: 'ERR_CONFIG',
    message: 'retention.audit: this needs a storage with the member audit',
  });
});

test('actions and limits of an API with a storage that cannot store them are refused by name', async (t) => {
  const rename = defineAction({
    type: 'school',
    name: 'rename-school-action',
    title: 'Rename a school',
    level: 'instance',
    permission: 'view_schools',
    input: z.object({}),
    output: z.null(),
    run: () => null,
  });
  const cases: [string, string, object][] = [
    ['actions', 'idempotency', { actions: [rename] }],
    ['limits', 'attempts.reserve', { limits: { user: { requests: 1, per: '1 minute' } } }],
  ];
  for (const [option, member, given] of cases) {
    const auth = await createAuthServer({
      ...required(),
      paths: { developer: false },
      storage: storageWithout(member),
    });
    t.notThrows(() => createApiRouter({ auth }));
    t.throws(() => createApiRouter({ auth, ...given }), {
      code: 'ERR_CONFIG',
      message: `${option}: this needs a storage with the member ${member}`,
    });
    await auth.close();
  }
});

test("issuer, users and storage are enough: pages named after the issuer's host, and no permissions", async (t) => {
  let auth!: AuthServer<never, never>;
  await using served = await serve(async (issuer) => {
    auth = await createAuthServer({ issuer, users: people(), storage: memoryStorage() });
    const app = new Koa().use(auth.middleware()).use(createApiRouter({ auth }).routes());
    const handle = app.callback();
    return (request, response) => void handle(request, response);
  });
  const login = await send(new URL('/oauth/login', served.origin));
  t.is(login.status, 200);
  t.true(login.text.includes(`to continue to ${new URL(served.origin).host}`), login.text);
  t.deepEqual(Object.keys(auth.gate.permissions), []);

  const { client, secret } = await auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
  const issued = await postJson(`${served.origin}/oauth/token`, {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret!.value,
  });
  t.is(issued.status, 200, issued.text);
  const authorization = `Bearer ${String(issued.body?.['access_token'])}`;
  const identity = await send(`${served.origin}/api/v1/identity`, { headers: { authorization } });
  t.like(identity.body, { data: { type: 'client', client_id: client.id, permissions: [] } });
  await auth.close();
});

test('options may be class instances and frozen objects', async (t) => {
  class Users {
    #people = people();
    authenticate(login: string, password: string): ReturnType<Given['users']['authenticate']> {
      return this.#people.authenticate(login, password);
    }
    find(id: string): ReturnType<Given['users']['find']> {
      return this.#people.find(id);
    }
    async permissions(): Promise<string[]> {
      return this.#people.all.flatMap(({ permissions }) => permissions);
    }
  }
  await using platform = await startPlatform({ users: new Users() as never });
  const issued = await runCodeFlow(platform, await platform.registerApp());
  t.is(issued.status, 200);
  const auth = await createAuthServer(Object.freeze(required()));
  await auth.close();
});

test('later changes of the options object have no effect', async (t) => {
  const scopes = { 'schools:read': { description: 'See your schools', permissions: ['view_schools'] } };
  const lifetimes = { accessToken: '1 hour' } as { accessToken: '1 hour' | '1 day' };
  await using platform = await startPlatform({ scopes, tokens: { lifetimes } } as object);
  lifetimes.accessToken = '1 day';
  Object.assign(scopes, { admin: { description: 'Everything', permissions: [] } });
  const service = await platform.registerService();
  t.is((await requestClientToken(platform, service)).body.expires_in, 3600);
  const refused = await requestClientToken(platform, service, { scope: 'admin' });
  t.is(refused.status, 400);
  t.is(refused.body.error, 'invalid_scope');
});

for (const [lifetimes, accessToken] of [
  [undefined, 31_536_000],
  ['long', 31_536_000],
  [{}, 31_536_000],
  ['short', 3600],
  [{ preset: 'short' }, 3600],
  [{ preset: 'short', refreshToken: '60 days' }, 3600],
  [{ accessToken: '15 min' }, 900],
  [{ accessToken: 1 }, 1],
  [{ accessToken: '1.5 hours' }, 5400],
  // In floating point, 2.3 times 3,600,000 is not a whole number.
  [{ accessToken: '2.3 hours' }, 8280],
  [{ accessToken: '1 year', refreshToken: '2 years' }, 31_536_000],
] as const) {
  test(`expires_in follows the lifetimes ${JSON.stringify(lifetimes) ?? 'by default'}`, async (t) => {
    await using platform = await startPlatform(lifetimes === undefined ? {} : { tokens: { lifetimes } });
    const own = await requestClientToken(platform, await platform.registerService());
    t.is(own.body.expires_in, accessToken);
    const issued = await runCodeFlow(platform, await platform.registerApp());
    t.is(issued.body.expires_in, accessToken);
    const { iat, exp } = claimsOf(issued.body.access_token);
    t.is(Number(exp) - Number(iat), accessToken);
  });
}

for (const [signingAlgorithm, kty] of [
  ['ES256', 'EC'],
  ['RS256', 'RSA'],
  ['EdDSA', 'OKP'],
] as const) {
  test(`tokens signed with ${signingAlgorithm} are accepted by all endpoints`, async (t) => {
    await using platform = await startPlatform({ tokens: { algorithm: signingAlgorithm } });
    const { body } = await runCodeFlow(platform, await platform.registerApp());
    t.like(headerOf(body.access_token), { alg: signingAlgorithm, typ: 'at+jwt' });
    t.is((await platform.api('/schools', body.access_token)).status, 200);
    const own = await requestClientToken(platform, await platform.registerService(['view_schools']));
    t.is((await platform.api('/schools', own.body.access_token)).status, 200);
    const jwks = (await send(platform.url('/oauth/jwks'))).body as { keys: Record<string, string>[] };
    const kid = String(headerOf(body.access_token)['kid']);
    const published = jwks.keys.find((key) => key['kid'] === kid);
    t.like(published, { kty, alg: signingAlgorithm, use: 'sig' });
    t.deepEqual(
      ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].filter((part) => jwks.keys.some((key) => part in key)),
      [],
    );
  });
}

test.serial('the engine prints nothing', async (t) => {
  const printed: unknown[] = [];
  const { warn, info, log, error } = console;
  t.teardown(() => Object.assign(console, { warn, info, log, error }));
  const record = (...words: unknown[]): void => void printed.push(words);
  Object.assign(console, { warn: record, info: record, log: record, error: record });
  const auth = await createAuthServer(required());
  await auth.close();
  t.deepEqual(printed, []);
});

test('a database that was not migrated is an error with the remedy', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  t.teardown(() => storage.close());
  const error = await t.throwsAsync(createAuthServer({ ...required(), storage }), {
    instanceOf: MigrationsPendingError,
    code: 'ERR_MIGRATIONS_PENDING',
  });
  t.true((error?.pending.length ?? 0) > 0);
  t.is(
    error?.message,
    `The database lacks ${error?.pending.length} migration(s): ${error?.pending.join(', ')}. Run \`gatehouse migrate\` or \`await storage.migrate()\` before serving.`,
  );
  await storage.migrate();
  await (await createAuthServer({ ...required(), storage })).close();
});

onEachDatabase(
  'migrate: true creates the tables, also on nodes that start at once',
  async (t, _, address) => {
    const storages = [knexStorage(address), knexStorage(address)];
    t.teardown(async () => Promise.all(storages.map((storage) => storage.close())));
    await t.throwsAsync(createAuthServer({ ...required(), storage: storages[0]!, migrate: false }), {
      instanceOf: MigrationsPendingError,
    });
    for (const nodes of [storages, storages.slice(0, 1)]) {
      const servers = await Promise.all(
        nodes.map((storage) => createAuthServer({ ...required(), storage, migrate: true })),
      );
      t.deepEqual(await storages[0]!.pendingMigrations(), []);
      for (const { keys } of servers) t.true(keys.list().length > 0);
    }
  },
);

onEachDatabase('a server does not start if one migration is missing', async (t, { client }, address) => {
  const host = connectHost(client, address);
  t.teardown(async () => host.destroy());
  const storage = knexStorage(host);
  await storage.migrate();
  const names: string[] = await host('gatehouse_migrations').pluck('name');
  t.true(names.length > 3);
  for (const name of names) {
    await host('gatehouse_migrations').where({ name }).delete();
    const error = await t.throwsAsync(createAuthServer({ ...required(), storage }), {
      instanceOf: MigrationsPendingError,
    });
    t.deepEqual(error.pending, [name]);
    await host('gatehouse_migrations').insert({ name, applied_at: 1 });
  }
  await (await createAuthServer({ ...required(), storage })).close();
});

test('tokens, refresh tokens and logins are valid after a restart', async (t) => {
  const database = `sqlite:${temporaryFile()}`;
  const issuer = 'https://platform.example';
  let origin = '';
  const start = async (signingAlgorithm: SigningAlgorithm = 'ES256'): Promise<Platform> =>
    startPlatform(
      { storage: knexStorage(database), tokens: { algorithm: signingAlgorithm } },
      {
        inFront: (inside) => {
          origin = inside;
          return issuer;
        },
        reach: (url) => (url.origin === issuer ? new URL(url.pathname + url.search, origin) : url),
      },
    );
  const tokens: string[] = [];
  let credentials: Record<string, unknown> = {};
  {
    await using first = await start();
    const app = await first.registerApp();
    const { body } = await runCodeFlow(first, app);
    tokens.push(
      body.access_token,
      (await requestClientToken(first, await first.registerService(['view_schools']))).body.access_token,
    );
    credentials = { ...asClient(app), grant_type: 'refresh_token', refresh_token: body.refresh_token };
  }
  {
    await using second = await start();
    for (const token of tokens) t.is((await second.api('/schools', token)).status, 200);
    const refreshed = await second.token(credentials);
    t.is(refreshed.status, 200);
    tokens.push(refreshed.body.access_token);
  }
  await using third = await start('RS256');
  for (const token of tokens)
    t.is(
      (await third.api('/schools', token)).status,
      200,
      'with another algorithm, tokens of the old key are valid',
    );
  const own = await requestClientToken(third, await third.registerService());
  t.is(headerOf(own.body.access_token)['alg'], 'RS256');
});

test('servers that start at once on an empty database share one signing key', async (t) => {
  const database = `sqlite:${temporaryFile()}`;
  const storages = Array.from({ length: 4 }, () => knexStorage(database));
  t.teardown(async () => Promise.all(storages.map((storage) => storage.close())));
  await Promise.all(storages.map((storage) => storage.migrate()));
  const issuer = 'https://platform.example';
  const servers = await Promise.all(
    storages.map((storage) =>
      startPlatform({ storage, issuer }, { inFront: () => issuer, reach: (url) => url }),
    ),
  );
  t.teardown(async () => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())));
  const kids = servers.map(({ auth }) => auth.keys.list().map(({ id }) => id));
  t.is(kids[0]?.length, 1);
  for (const one of kids) t.deepEqual(one, kids[0]);
});

test('cookie keys in the storage are the same after a restart', async (t) => {
  const storage = memoryStorage();
  await (await createAuthServer({ ...required(), storage })).close();
  const stored = await storage.keys.list('cookie');
  await (await createAuthServer({ ...required(), storage })).close();
  t.deepEqual(await storage.keys.list('cookie'), stored);
  t.is(stored.length, 1);
  const other = memoryStorage();
  await (
    await createAuthServer({ ...required(), storage: other, secrets: { cookieKeys: [RANDOM] } })
  ).close();
  t.deepEqual(await other.keys.list('cookie'), [], 'no key is created if keys are given');
});

function headerOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as Record<string, unknown>;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}
