import { inspect } from 'node:util';

import test from './harness/test.ts';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  ConfigError,
  createAdministration,
  createApiRouter,
  createAuthServer,
  personalTokens,
  defineGate,
  GatehouseError,
} from 'koa-gatehouse';
import type { AuthServer, AuthServerOptions, Gate } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { onEachEmptyDatabase } from './adapters/databases.ts';
import { temporaryFile } from './adapters/temporary-file.ts';
import { openHost, openNodes } from './adapters/host-knex.ts';
import { clusterOn } from './harness/cluster.ts';
import { runCodeFlow, gate, people, recordingLogger, startPlatform } from './harness/platform.ts';
import { postJson, send } from './harness/requests.ts';
import { koaApp, listenerOf, serve } from './harness/serve.ts';
import { clientToken, exchangeRefreshToken, requestClientToken } from './harness/tokens.ts';
import { MigrationsPendingError } from '../lib/errors.ts';
import type { Middleware } from 'koa';

type Given = AuthServerOptions;
type Refused = [option: string, remedy: string | RegExp, values: readonly unknown[]];
type Mistake = [given: object, option: string, remedy: string | RegExp];

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
  verifyPassword: async () => undefined,
  find: async () => undefined,
  permissions: async () => [],
};
class UsersOfClass {
  verifyPassword = methods.verifyPassword;
  find = methods.find;
  async role(): Promise<string[]> {
    return [];
  }
}
const RANDOM = 'f3a1b07c9e5d4268a1b07c9e5d4268f3';
const API = 'https://api.example/v1';
const currentUser = (): undefined => undefined;

const SCOPE = { description: 'See', permissions: [] };

/** What the options of some groups are given with. */
const BESIDE: Readonly<Record<string, object>> = {
  login: { currentUser },
  'scopes.read': SCOPE,
};

/** Options with a value at a place such as `limits.attempts.login.window`. */
function optionsWith(place: string, value: unknown): object {
  const groups = place.split('.');
  const name = groups.pop()!;
  const given = { ...BESIDE[groups.join('.')], [name]: value };
  return groups.reduceRight<object>((inner, group) => ({ [group]: inner }), given);
}

const DURATION = "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least";
const SECRETS = 'give random strings of at least 32 characters, newest first';
const COUNT = 'give a whole number of at least 1';
const PAGE =
  "give a path such as '/account/apps', outside /oauth and /.well-known and without a trailing slash, or false";
const WRONG_PAGES = ['/oauth/apps', '/OAuth/apps', '/.well-known', '/../oauth', '', '/', '/apps/', '//apps'];

/** The option that the error names, the remedy, and values that are refused. */
const wrongValues: readonly Refused[] = [
  ['nonsense', /^there is no such option; the options are issuer, users, storage, /, [1]],
  ...[
    ['Issuer', 'issuer'],
    ['privateKeyJwt', 'clients.privateKeyJwt'],
    ['keyEncryptionKey', 'secrets.keyEncryptionKey'],
    ['loginUrl', 'login.url'],
    ['maxTotalBodyBytes', 'limits.maxTotalBodyBytes'],
    ['mountPath', 'paths.mount'],
    ['refreshGarce', 'tokens.refreshGrace'],
    ['signingAlgorithm', 'tokens.algorithm'],
  ].map(([name = '', meant]): Refused => [
    name,
    new RegExp(`^there is no such option; did you mean ${meant}\\? The options are issuer, users, `),
    [1],
  ]),
  [
    'issuer',
    "give the server's base URL as a string, such as https://platform.example",
    [null, '', 'https://', 'ftp://x.example'],
  ],
  [
    'issuer',
    "give the server's base URL as a string, such as https://platform.example; it is undefined: is the variable of the environment that it is read from set?",
    [undefined],
  ],
  ...[
    ['platform.example', 'https://platform.example'],
    ['localhost:3000', 'http://localhost:3000'],
  ].map(([given = '', meant]): Refused => [
    'issuer',
    `give the server's base URL as a string, such as https://platform.example; ${given} has no scheme: write ${meant}`,
    [given],
  ]),
  [
    'issuer',
    'leave out query, fragment and credentials (RFC 8414 section 2), such as https://platform.example',
    ['https://x.example/?a=1', 'https://x.example?', 'https://x.example/#a', 'https://ann@x.example'],
  ],
  ...['x.example', 'localhost.x.example', '0.0.0.0:3000', '127.0.0.1.x.example'].map((host): Refused => [
    'issuer',
    `use https; http is accepted for loopback addresses only, not for ${host}`,
    [`http://${host}`],
  ]),
  [
    'users',
    'pass an object with the methods verifyPassword(login, password) and find(id)',
    [
      undefined,
      null,
      {},
      { verifyPassword: methods.verifyPassword },
      { ...methods, find: undefined },
      { ...methods, verifyPassword: 1 },
    ],
  ],
  [
    'users',
    'add the method verifyPassword(login, password), or set login.url to your own login page',
    [{ find: methods.find }],
  ],
  ['users', 'make roles(user) a method, or leave it out', [{ ...methods, roles: ['registrar'] }]],
  ['users', 'make username(user) a method, or leave it out', [{ ...methods, username: 'ann' }]],
  [
    'storage',
    'pass knexStorage(knex) from koa-gatehouse/adapters/knex, sqlStorage(pool) from koa-gatehouse/adapters/sql, or memoryStorage() from koa-gatehouse/adapters/memory for tests and first steps',
    [undefined, null, 'sqlite:data.db', knexStorage, { grants: { redeem() {} } }],
  ],
  [
    'interactions',
    'pass pages() from koa-gatehouse/interactions or a function of your own, or leave it out',
    [null, {}, () => undefined, () => ({}), () => ({ error() {} }), async () => ({})],
  ],
  ['interactions', 'pass the result of pages(), not the function pages itself', [pages]],
  ['gate', 'pass defineGate({ permissions, roles }), or leave it out', [null, {}, defineGate]],
  ['logger', 'pass an object with debug, info, warn and error, as pino has; debug is missing', [null, {}]],
  ['logger', /; warn is missing$/, [{ ...recordingLogger(), warn: undefined }]],
  ['migrate', 'pass true or false', ['always']],
  ['trustProxy', 'pass true or false', [null, 'true', 1]],

  [
    'paths.mount',
    "give a path that starts with a slash, such as '/auth', or '/' when a proxy removes the issuer's path",
    [null, '', 'auth', './auth', '/a?b', '/a#b', '/a b', 'https://x.example/auth'],
  ],
  ['paths.account', PAGE, WRONG_PAGES],

  ['login.currentUser', 'pass a function, or leave it out', [null, 'ann']],
  ['login.logout', 'pass a function, or leave it out', ['/logout']],
  [
    'login.url',
    "give a path or URL of the host's login page, such as '/login'",
    [null, '', 'login', 'javascript:alert(1)', 'mailto:ann@x.example'],
  ],

  [
    'scopes',
    "give an object with the scopes by name, such as { 'schools:read': { description, permissions } }",
    [null, 'schools:read', ['schools:read'], new Map()],
  ],
  ...['a b', 'a"b', String.raw`a\b`, '', 'é', 'a\n'].map((name): Refused => [
    `scopes.${name}`,
    'a scope name has no spaces, quotes or backslashes (RFC 6749 section 3.3)',
    [SCOPE],
  ]),
  ['scopes.openid', /^this name belongs to OpenID Connect/, [SCOPE]],
  ['scopes.offline_access', /^this name is defined already/, [SCOPE]],
  [
    'scopes.read.description',
    'describe in a sentence what users agree to, such as "See your schools"',
    [undefined, ' ', 5],
  ],
  [
    'scopes.read.permissions',
    'list the permissions that a token with this scope is limited to',
    [undefined, 'view_schools', {}],
  ],
  [
    'scopes.read.permissions',
    '"veiw_schools" is not a permission of the gate',
    [['view_schools', 'veiw_schools']],
  ],
  ['scopes.read.optional', 'pass true or false', [1, null]],
  ['scopes.read.title', /^there is no such option; the options are description, /, ['Schools']],

  [
    'resources',
    "give an object with the APIs by URL, such as { 'https://api.example/v1': { scopes } }",
    [null, [], 'https://api.example', new Map()],
  ],

  ['tokens.claims', 'pass a function, or leave it out', [{ tenant: 'north' }]],
  ['tokens.algorithm', 'choose ES256, RS256 or EdDSA', [null, 'none', 'HS256', 'es256', '']],
  ['tokens.revocationLag', `${DURATION} 1 s`, [null, 0, 'soon']],
  ['tokens.maxCached', COUNT, [null, 0, -1, 1.5, '10', Infinity]],
  ['tokens.refreshGrace', `${DURATION} 0 s`, [null, -1, 'never', false]],
  ['tokens.keyRotation', `${DURATION} 0 s`, [-1]],
  ['tokens.lifetimes', 'choose long or short', ['reference', '', 'constructor']],
  ['tokens.lifetimes.preset', 'choose long or short', ['reference']],
  [
    'tokens.lifetimes',
    /^give a preset, long or short, or single lifetimes such as /,
    [null, 3600, ['short']],
  ],
  ['tokens.lifetimes.accesToken', /^there is no such option; did you mean accessToken\? /, [5]],
  [
    'tokens.lifetimes.accessToken',
    `${DURATION} 1 s`,
    [null, 0, -1, 1.5, Infinity, NaN, 60n, [60], '', '1', '1 fortnight', '-1 hour', '1 Hour', '0.3 s'],
  ],
  ['tokens.lifetimes.accessToken', 'give at most 10 years; a number is in seconds', [3_600_000_000]],
  [
    'tokens.lifetimes.authorizationCode',
    'a code lives 10 minutes at most (RFC 6749 section 4.1.2)',
    ['11 minutes'],
  ],

  ['secrets.cookieKeys', SECRETS, [null, RANDOM, [], [RANDOM, 'short'], [5]]],
  ['secrets.keyEncryptionKey', SECRETS, [null, true, 'short', [], ['short'], [false]]],
  ['retention.pruneInterval', `${DURATION} 0 s`, [-1]],
  ['retention.audit', `${DURATION} 0 s`, [-1]],

  [
    'limits.attempts',
    'pass an object with some of login, clientAuthentication, or false for none',
    [null, true, 'strict', []],
  ],
  ['limits.attempts.logins', /^there is no such option; did you mean login\? /, [{}]],
  ['limits.attempts.login', /^pass an object with some of perAccountAndAddress, /, [true]],
  ['limits.attempts.login.perUser', /; the options are perAccountAndAddress, /, [5]],
  ['limits.attempts.login.window', /at least 1 s$/, [0]],
  ['limits.attempts.login.perDevice', /at least 1$/, [0]],
  ['limits.attempts.login.deviceLifetime', /at least 1 s$/, [0]],
  [
    'limits.attempts.login.deviceLifetime',
    'give at most 400 days: browsers store no cookie for longer',
    ['401 days'],
  ],
  ['limits.attempts.clientAuthentication.perAddress', COUNT, [0]],
  ['limits.bodyTimeout', /at least 1 s$/, [0]],
  ['limits.maxTotalBodyBytes', 'give a whole number of at least 1, or 0 for no limit', [-1]],
];

/** Options of which the error names another than the one that was given, or a URL. */
const mistakes: readonly Mistake[] = [
  ...['permission', 'permisions', 'Permissions'].map((name): Mistake => [
    { users: { ...methods, permissions: undefined, [name]: methods.permissions } },
    `users.${name}`,
    'name the method permissions(user), or pass an object without it if roles and permissions are stored by this server',
  ]),
  [{ users: new UsersOfClass() }, 'users.role', /^name the method roles\(user\), /],
  [
    { login: { url: '/login' } },
    'login.url',
    'also pass login.currentUser, which returns the user who has logged in there',
  ],
  [
    { features: [personalTokens()], login: { url: '/login', currentUser } },
    'login.authenticatedAt',
    'pass a function that returns when the user of the request has logged in at login.url: personal access tokens are created after a fresh login only',
  ],
  ...(
    [
      [
        'give the URL of the API as the key, such as https://api.example/v1',
        ['/v1', 'https://', 'https://api.example/a b', 'https://api.example/"'],
      ],
      [
        'leave out query, fragment and credentials (RFC 9728 section 1.2)',
        ['https://x.example/?a=1', 'https://x.example?', 'https://x.example/#a', 'https://ann@x.example'],
      ],
      ['use https; http is accepted for loopback addresses only', ['http://api.example', 'urn:api']],
      [
        'the issuer is the default API; give its scopes in the option scopes',
        ['https://platform.example', 'https://platform.example/', 'HTTPS://Platform.Example:443'],
      ],
    ] as const
  ).flatMap(([remedy, urls]) =>
    urls.map((url): Mistake => [{ resources: { [url]: {} } }, `resources['${url}']`, remedy]),
  ),
  [
    { resources: { 'https://api.example': {}, 'https://api.example/': {} } },
    "resources['https://api.example/']",
    'another entry has the same URL; give each API once',
  ],
  ...(
    [
      [null, '', /^pass an object with some of name, /],
      [{ audience: API }, '.audience', /^there is no such option; the options are name, /],
      [{ name: ' ' }, '.name', 'give the name that users know the API by, such as "Documents"'],
      [{ scopes: { read: { ...SCOPE, description: '' } } }, '.scopes.read.description', /^describe in a /],
      [
        { scopes: { read: { ...SCOPE, permissions: ['gone'] } } },
        '.scopes.read.permissions',
        '"gone" is not a permission of the gate',
      ],
      [{ lifetimes: { session: 5 } }, '.lifetimes.session', /; the options are accessToken, refreshToken, /],
      [{ lifetimes: { refreshToken: '11 years' } }, '.lifetimes.refreshToken', /^give at most 10 years; /],
      [
        { lifetimes: { accessToken: '2 hours' } },
        '.lifetimes.accessToken',
        'at most tokens.lifetimes.accessToken, which is 3600 s',
      ],
    ] as const
  ).map(([api, member, remedy]): Mistake => [
    { tokens: { lifetimes: 'short' }, resources: { [API]: api } },
    `resources['${API}']${member}`,
    remedy,
  ]),
];

test('a wrong option is a ConfigError with the remedy', async (t) => {
  const all = wrongValues.flatMap(([option, remedy, values]) =>
    values.map((value) => [optionsWith(option, value), option, remedy] as const),
  );
  for (const [given, option, remedy] of [...all, ...mistakes]) {
    const error = await t.throwsAsync(
      createAuthServer({ ...required(), ...given }),
      { instanceOf: ConfigError, code: 'ERR_CONFIG', name: 'ConfigError' },
      inspect(given),
    );
    t.true(error instanceof GatehouseError);
    t.is(error.option, option);
    t.is(error.message.slice(0, option.length + 2), `${option}: `);
    const said = error.message.slice(option.length + 2);
    if (typeof remedy === 'string') t.is(said, remedy, inspect(given));
    else t.regex(said, remedy, inspect(given));
  }
});

test('options that are no object are refused, and so is one that createAdministration() does not have', async (t) => {
  for (const options of [undefined, null, 5, 'https://platform.example', []]) {
    await t.throwsAsync(createAuthServer(options as unknown as Given), {
      code: 'ERR_CONFIG',
      message: /^options: pass an object with some of issuer, users, storage, /,
    });
  }
  t.throws(() => Reflect.apply(createAdministration, undefined, [{ storage: memoryStorage(), scope: {} }]), {
    instanceOf: ConfigError,
    message:
      'scope: there is no such option; did you mean scopes? The options are storage, scopes, resources, features, secrets, logger, retention, gate, tokens',
  });
});

test('the least values, undefined ones, and URLs in any spelling are accepted', async (t) => {
  const accepted: readonly [given: object, issuer?: string][] = [
    [{ issuer: 'https://platform.example/' }],
    [{ issuer: 'https://platform.example/auth/' }, 'https://platform.example/auth'],
    [{ issuer: 'HTTPS://Platform.Example:443/Auth' }, 'https://platform.example/Auth'],
    [{ issuer: 'http://localhost:3000' }, 'http://localhost:3000'],
    [{ issuer: 'http://[::1]:3000' }, 'http://[::1]:3000'],
    [{ issuer: 'http://127.0.0.1' }, 'http://127.0.0.1'],
    [
      {
        paths: { mount: undefined },
        scopes: undefined,
        tokens: { lifetimes: { preset: undefined, accessToken: undefined } },
        trustProxy: undefined,
        logger: undefined,
        interactions: undefined,
        gate: undefined,
        migrate: undefined,
      },
    ],
    [{ login: { url: '/login', currentUser }, scopes: {}, trustProxy: true }],
    [{ login: { url: 'https://id.example/login?x=1', currentUser } }],
    [{ secrets: { cookieKeys: [RANDOM, RANDOM], keyEncryptionKey: RANDOM } }],
    [{ secrets: { keyEncryptionKey: false }, limits: { attempts: false } }],
    [
      {
        tokens: { refreshGrace: 0, keyRotation: 0, revocationLag: 1, maxCached: 1 },
        retention: { pruneInterval: 0, audit: 0 },
        limits: { attempts: { login: false, clientAuthentication: undefined } },
      },
    ],
  ];
  for (const [given, issuer = 'https://platform.example'] of accepted) {
    const auth = await createAuthServer({ ...required(), ...given });
    t.is(auth.issuer, issuer);
    await auth.close();
  }
});

test("issuer, users and storage are enough: pages named after the issuer's host, and no permissions", async (t) => {
  let auth!: AuthServer<Gate<never, never>>;
  await using served = await serve(async (issuer) => {
    auth = await createAuthServer({ issuer, users: people(), storage: memoryStorage() });
    return listenerOf(koaApp(auth.middleware(), createApiRouter({ auth }).routes() as Middleware));
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

test('the users may be an instance of a class', async (t) => {
  class Users {
    #all = people().all;
    async verifyPassword(login: string) {
      return this.#all.find(({ email }) => email === login);
    }
    async find(id: string) {
      return this.#all.find((one) => one.id === id);
    }
    async permissions() {
      return this.#all.flatMap(({ permissions }) => permissions);
    }
  }
  await using platform = await startPlatform({ users: new Users() });
  t.is((await runCodeFlow(platform, await platform.registerApp())).status, 200);
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

test('tokens live as long as the lifetimes say', async (t) => {
  for (const [lifetimes, seconds] of [
    [undefined, 31_536_000],
    ['long', 31_536_000],
    [{}, 31_536_000],
    ['short', 3600],
    [{ preset: 'short', refreshToken: '60 days' }, 3600],
    [{ accessToken: '15 min' }, 900],
    [{ accessToken: '2 weeks' }, 1_209_600],
    [{ accessToken: 1 }, 1],
    [{ accessToken: '1.5 hours' }, 5400],
    // In floating point, 2.3 times 3,600,000 is not a whole number.
    [{ accessToken: '2.3 hours' }, 8280],
  ] as const) {
    const auth = await createAuthServer({ ...required(), tokens: { lifetimes } });
    const { client } = await auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
    const { iat, exp } = decodeJwt(await auth.issueToken({ clientId: client.id }));
    t.is(Number(exp) - Number(iat), seconds, inspect(lifetimes));
    await auth.close();
  }
  await using platform = await startPlatform({ tokens: { lifetimes: { accessToken: '15 min' } } });
  t.is((await runCodeFlow(platform, await platform.registerApp())).body.expires_in, 900);
});

for (const [algorithm, kty] of [
  ['ES256', 'EC'],
  ['RS256', 'RSA'],
  ['EdDSA', 'OKP'],
] as const) {
  test(`tokens signed with ${algorithm} are accepted, and only the public key is published`, async (t) => {
    await using platform = await startPlatform({ tokens: { algorithm } });
    const token = await clientToken(platform, await platform.registerService(['view_schools']));
    const { alg, kid, typ } = decodeProtectedHeader(token);
    t.deepEqual([alg, typ], [algorithm, 'at+jwt']);
    t.is((await platform.api('/schools', token)).status, 200);
    const { keys } = (await send(platform.url('/oauth/jwks'))).body as { keys: Record<string, string>[] };
    t.like(
      keys.find((key) => key['kid'] === kid),
      { kty, alg: algorithm, use: 'sig' },
    );
    const secret = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'];
    t.false(keys.some((key) => secret.some((part) => part in key)));
  });
}

test('the engine prints nothing', async (t) => {
  const printed: unknown[] = [];
  const { warn, info, log, error } = console;
  t.teardown(() => Object.assign(console, { warn, info, log, error }));
  const record = (...words: unknown[]): void => void printed.push(words);
  Object.assign(console, { warn: record, info: record, log: record, error: record });
  const auth = await createAuthServer(required());
  await auth.close();
  t.deepEqual(printed, []);
});

onEachEmptyDatabase(
  'migrate: true creates the tables, also on nodes that start at once',
  async (t, _, address) => {
    const storages = openNodes(t, 2, address);
    await t.throwsAsync(createAuthServer({ ...required(), storage: storages[0], migrate: false }), {
      instanceOf: MigrationsPendingError,
    });
    for (const nodes of [storages, storages.slice(0, 1)]) {
      const servers = await Promise.all(
        nodes.map((storage) => createAuthServer({ ...required(), storage, migrate: true })),
      );
      t.teardown(async () => Promise.all(servers.map(async (server) => server.close())));
      t.deepEqual(await storages[0].pendingMigrations(), []);
      for (const { signingKeys: keys } of servers) t.true(keys.list().length > 0);
    }
  },
);

test('a server does not start if a migration is missing', async (t) => {
  const host = openHost(t, 'better-sqlite3', `sqlite:${temporaryFile()}`);
  const storage = knexStorage(host);
  const options = { ...required(), storage };
  const isRefused = async (names: readonly string[]): Promise<void> => {
    const { pending } = await t.throwsAsync(createAuthServer(options), {
      instanceOf: MigrationsPendingError,
      code: 'ERR_MIGRATIONS_PENDING',
      message: `The database lacks ${names.length} migration(s): ${names.join(', ')}. Run \`gatehouse migrate\` or \`await storage.migrate()\` before serving.`,
    });
    t.deepEqual(pending, names);
  };
  const all = await storage.pendingMigrations();
  t.true(all.length > 0);
  await isRefused(all);
  await storage.migrate();
  await host('gatehouse_migrations').delete();
  await isRefused(all);
  await storage.migrate();
  await (await createAuthServer(options)).close();
});

test('tokens, refresh tokens and logins are valid after a restart', async (t) => {
  const cluster = clusterOn(t, `sqlite:${temporaryFile()}`);
  const first = await cluster.start({ migrate: true });
  const app = await first.registerApp();
  const { body } = await runCodeFlow(first, app);
  const service = await first.registerService(['view_schools']);
  const tokens = [body.access_token, await clientToken(first, service)];
  await cluster.stop(first);

  const second = await cluster.start();
  for (const token of tokens) t.is((await second.api('/schools', token)).status, 200);
  const refreshed = await exchangeRefreshToken(second, app, body.refresh_token);
  t.is(refreshed.status, 200);
  await cluster.stop(second);

  const third = await cluster.start({ tokens: { algorithm: 'RS256' } });
  for (const token of [...tokens, refreshed.body.access_token])
    t.is((await third.api('/schools', token)).status, 200, 'signed with the old key');
  t.is(decodeProtectedHeader(await clientToken(third, service))['alg'], 'RS256');
});

test('servers that start at once on an empty database share one signing key', async (t) => {
  const storages = openNodes(t, 4, `sqlite:${temporaryFile()}`);
  await storages[0].migrate();
  const servers = await Promise.all(
    storages.map(async (storage) => createAuthServer({ ...required(), storage })),
  );
  t.teardown(async () => Promise.all(servers.map(async (server) => server.close())));
  const kids = servers.map(({ signingKeys: keys }) => keys.list().map(({ id }) => id));
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
  const secrets = { cookieKeys: [RANDOM] };
  await (await createAuthServer({ ...required(), storage: other, secrets })).close();
  t.deepEqual(await other.keys.list('cookie'), [], 'no key is created if keys are given');
});
