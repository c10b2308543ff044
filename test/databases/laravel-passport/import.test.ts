import { createHash, randomUUID } from 'node:crypto';

import test from '../../harness/test.ts';
import { hashSync } from 'bcryptjs';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachEmptyDatabase } from '../../adapters/databases.ts';
import type { TestDatabase } from '../../adapters/databases.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { Browser } from '../../harness/browser.ts';
import { like } from '../../harness/like.ts';
import { authorize, BOTH_SCOPES, signIn, startPlatform } from '../../harness/platform.ts';
import { pkce } from '../../harness/pkce.ts';
import { exchangeCode, requestClientToken } from '../../harness/tokens.ts';
import { connectLaravel, createTables, row12, row13 } from '../../laravel-passport/laravel.ts';
import { gatehouse, gatehouseJson, migrated } from '../../cli/gatehouse.ts';

interface ImportDocument {
  readonly clients: readonly {
    readonly client_id: string;
    readonly result: string;
    readonly grant_type: string | null;
    readonly notes: readonly string[];
    readonly errors: readonly { field: string; message: string }[];
  }[];
}

/** A hash by PHP's `password_hash()`, at the lowest cost to save time. */
function phpHash(secret: string): string {
  return hashSync(secret, 4).replace(/^\$2b\$/, '$2y$');
}

/** The database of a Laravel app with clients. */
async function createLaravelDatabase(
  version: '11' | '13',
  rows: readonly Record<string, unknown>[],
  client: TestDatabase['client'] = 'better-sqlite3',
  address = `sqlite:${temporaryFile('laravel.sqlite')}`,
): Promise<string> {
  const database = connectLaravel(client, address);
  await createTables(database, version);
  await database('oauth_clients').insert(rows);
  await database.destroy();
  return address;
}

function importArguments(database: string, source: string, ...more: readonly string[]): string[] {
  return [
    'client',
    'import',
    '--from',
    'laravel-passport',
    '--database',
    database,
    '--source',
    source,
    ...more,
  ];
}

const PLAIN = 'Zk3vTq9XbR7mWc2LhYpN8sDfGj5AuEo1iKtVrB6x';
const CALLBACK = 'https://portal.example/callback';

for (const version of ['11', '13'] as const) {
  onEachEmptyDatabase(
    `clients of Passport ${version} get tokens with their old secrets`,
    async (t, { client }, address) => {
      // One database for both, as in an app that moves.
      t.is((await gatehouse('migrate', { DATABASE_URL: address })).code, 0);
      const [service, portal, hash] = [randomUUID(), randomUUID(), phpHash('portal-secret')];
      const rows =
        version === '11'
          ? [
              row12({ id: 7, name: 'Nightly', secret: PLAIN }),
              row12({
                id: 8,
                name: 'Portal',
                secret: hash,
                redirect: `${CALLBACK}, https://b.example/`,
                user_id: 5,
              }),
            ]
          : [
              row13({
                id: service,
                name: 'Nightly',
                secret: phpHash(PLAIN),
                grant_types: ['client_credentials'],
              }),
              row13({
                id: portal,
                name: 'Portal',
                secret: hash,
                redirect_uris: [CALLBACK, 'https://b.example/'],
                grant_types: ['authorization_code', 'refresh_token'],
                owner_type: 'App\\Models\\User',
                owner_id: 5,
              }),
            ];
      await createLaravelDatabase(version, rows, client, address);
      const document = await gatehouseJson(importArguments(address, address, '--yes'));
      t.like(document, { dry_run: false, imported: 2, present: 0, skipped: 0, refused: 0 });

      const storage = knexStorage(address);
      await using platform = await startPlatform({ storage });
      const [nightly, app] = await Promise.all(
        rows.map(async ({ id }) => (await platform.auth.clients.find(String(id)))!),
      );
      for (const [secret, status] of [
        [`${PLAIN}x`, 401],
        [PLAIN, 200],
        [PLAIN, 200],
      ] as const)
        t.is((await requestClientToken(platform, { client: nightly!, secret })).status, status);
      like(t, app, {
        name: 'Portal',
        grantType: 'authorization_code',
        redirectUris: [CALLBACK, 'https://b.example/'],
        confidential: true,
        ownerId: '5',
        disabled: false,
        createdAt: Date.parse(version === '11' ? '2021-03-04T05:06:07Z' : '2025-03-04T05:06:07Z') / 1000,
      });
      const registered = { client: app!, secret: 'portal-secret', redirectUri: CALLBACK };
      const code = (await authorize(platform, registered)).get('code');
      t.is((await exchangeCode(platform, { ...registered, secret: 'wrong' }, code)).status, 401);
      t.is((await exchangeCode(platform, registered, code)).status, 200);

      // The first use replaced the bcrypt hashes.
      for (const { id } of await platform.auth.clients.list()) {
        const [secret] = (await storage.clients.find(id))!.secrets;
        t.regex(secret!.hash, /^[\w-]{43}$/);
      }
    },
  );
}

test('a client limited to scopes is imported with them', async (t) => {
  const limits: Readonly<Record<string, readonly string[] | undefined>> = {
    One: ['schools:read'],
    None: [],
    All: ['*'],
    Unlimited: undefined,
  };
  const rows = Object.keys(limits).map((name) =>
    row13({
      id: randomUUID(),
      name,
      secret: phpHash(PLAIN),
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    }),
  );
  const address = await createLaravelDatabase('13', rows);
  // Passport has no such column, but reads it where an app has added one.
  const laravel = connectHost('better-sqlite3', address);
  await laravel.schema.alterTable('oauth_clients', (table) => void table.text('scopes'));
  for (const [name, scopes] of Object.entries(limits)) {
    if (scopes)
      await laravel('oauth_clients')
        .where({ name })
        .update({ scopes: JSON.stringify(scopes) });
  }
  await laravel.destroy();
  const database = await migrated();
  await gatehouseJson(importArguments(database, address, '--yes'));

  await using platform = await startPlatform({
    storage: knexStorage(database),
    scopes: BOTH_SCOPES,
  });
  const imported = new Map((await platform.auth.clients.list()).map((one) => [one.name, one]));
  const browser = new Browser();
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  for (const [name, scopes] of Object.entries(limits)) {
    const client = imported.get(name)!;
    const isLimited = scopes !== undefined && !scopes.includes('*');
    t.deepEqual(client.scopes, isLimited ? scopes : undefined, name);
    const app = { client, secret: PLAIN, redirectUri: CALLBACK };
    const given = await authorize(platform, app, { browser, parameters: { scope: 'schools:write' } });
    t.is(given.get('error'), isLimited ? 'invalid_scope' : null, name);
  }
});

test('without --yes, import prints what it would do and changes nothing; it can be run again', async (t) => {
  const database = await migrated();
  const local = { secret: PLAIN, redirect: 'http://localhost' };
  const source = await createLaravelDatabase('11', [
    row12({ id: 1, name: 'Personal', ...local, personal_access_client: true }),
    row12({ id: 2, name: 'Password', ...local, password_client: true, provider: 'users' }),
    row12({ id: 3, name: 'Nightly', secret: PLAIN }),
    row12({ id: 4, name: 'Portal', secret: PLAIN, redirect: CALLBACK }),
    row12({
      id: 5,
      name: 'Broken',
      redirect: 'https://ok.example/, https://no.example/#here, ftp://no.example/',
    }),
    row12({ id: 6, name: 'Old', redirect: 'https://old.example/', revoked: true }),
  ]);
  const laravel = connectHost('better-sqlite3', source);
  for (const table of ['oauth_access_tokens', 'oauth_refresh_tokens']) await laravel.schema.dropTable(table);
  const dry = await gatehouse(importArguments(database, source));
  t.is(dry.code, 1);
  t.is(
    dry.output,
    `Client ID  Name      Result     Grant type          Notes
1          Personal  to import  device_code         1
2          Password  to import  device_code         2
3          Nightly   to import  client_credentials  3
4          Portal    to import  authorization_code  4
5          Broken    refused    authorization_code  5, 6
6          Old       to import  authorization_code  7

 1. A personal access client: its tokens are accepted with the feature laravelPassport(). Users make new ones where the server has the feature for them.
 2. A password client: its tokens are accepted and refreshed with the feature laravelPassport(). The password grant is not supported (RFC 9700 section 2.4): users who log in anew use a code that their program shows, or another client with authorization codes.
 3. It has no permissions yet, because Passport has none for clients. Add them with \`gatehouse client permissions\`.
 4. It keeps the authorization code grant only. If it also uses client credentials, register another client for that.
 5. redirectUris[1]: a redirect URI has no fragment (RFC 6749 section 3.1.2) (https://no.example/#here)
 6. redirectUris[2]: use a scheme of your own, such as com.example.app:/callback (RFC 8252 section 7.1), and none of a protocol, a browser or a system (ftp://no.example/)
 7. It was revoked in Passport, so it is disabled.

The live tokens were not counted: source: this database has no table oauth_access_tokens; pass the database of the Laravel app, and the prefix of its tables if they have one

5 to import, 0 already present, 0 skipped, 1 refused.
Correct the refused clients in Passport, and run it again.
Nothing was changed. Run it again with --yes to import.
`,
  );
  t.deepEqual(await gatehouseJson(`client list --database ${database}`), { clients: [], next: null });

  // The database of the Laravel app is only read, even while the app uses it.
  await laravel.raw('begin immediate');
  for (const [more, result] of [
    [['--yes'], { dry_run: false, imported: 5, present: 0, skipped: 0, refused: 1 }],
    [['--yes'], { imported: 0, present: 5 }],
    [[], { dry_run: true, imported: 0, present: 5 }],
  ] as const)
    t.like(await gatehouseJson(importArguments(database, source, ...more)), result);
  await laravel.raw('rollback');
  t.is((await laravel.raw('pragma journal_mode'))[0].journal_mode, 'delete');
  await laravel.destroy();
});

test('a revoked client is disabled, a public one stays public: PKCE, and private schemes for an app', async (t) => {
  const database = await migrated();
  const redirectUri = 'com.example.app:/callback';
  const source = await createLaravelDatabase('11', [
    row12({ id: 3, name: 'Nightly', secret: PLAIN, revoked: true }),
    row12({ id: 9, name: 'Phone', redirect: redirectUri }),
  ]);
  await gatehouseJson(importArguments(database, source, '--yes'));
  await using platform = await startPlatform({ storage: knexStorage(database) });
  const { clients } = platform.auth;
  const [nightly, phone] = await clients.list();
  t.like(nightly, { id: '3', disabled: true, disabledBy: undefined });
  const service = { client: nightly!, secret: PLAIN };
  t.like(await requestClientToken(platform, service), { status: 401, body: { error: 'invalid_client' } });
  await clients.enable('3');
  t.is((await requestClientToken(platform, service)).status, 200);

  t.like(phone, { confidential: false, native: true });
  const { parameters, verifier } = pkce();
  const app = { client: phone!, secret: '', redirectUri };
  const code = (await authorize(platform, app, { parameters })).get('code');
  t.is((await exchangeCode(platform, app, code, { code_verifier: verifier })).status, 200);
});

const PERSONAL =
  'A personal access client: its tokens are accepted with the feature laravelPassport(). Users make new ones where the server has the feature for them.';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
// What an upgrade to version 13 gives to each client that could have had it.
const EVERYTHING = ['authorization_code', 'client_credentials', 'implicit', 'refresh_token', DEVICE];
const A_HASH = phpHash('x');
const LOCAL = { secret: A_HASH, redirect_uris: ['http://localhost'] };
const CODE = {
  secret: A_HASH,
  redirect_uris: ['https://a.example/'],
  grant_types: ['authorization_code', 'refresh_token'],
};

/** Clients of Passport 13, each with what becomes of it: the result, the grant type, and the notes and errors. */
const CLIENTS: Readonly<Record<string, readonly [fields: object, ...result: readonly (string | null)[]]>> = {
  both: [
    { ...CODE, grant_types: EVERYTHING },
    'imported',
    'authorization_code',
    'It keeps the authorization code grant only. If it also uses client credentials, register another client for that.',
    'It loses grants that are not supported: implicit, urn:ietf:params:oauth:grant-type:device_code.',
  ],
  upgradedPersonal: [
    { ...LOCAL, grant_types: [...EVERYTHING, 'personal_access'] },
    'imported',
    'device_code',
    PERSONAL,
  ],
  upgradedPassword: [
    { ...LOCAL, grant_types: [...EVERYTHING, 'password'] },
    'imported',
    'device_code',
    'A password client: its tokens are accepted and refreshed with the feature laravelPassport(). The password grant is not supported (RFC 9700 section 2.4): users who log in anew use a code that their program shows, or another client with authorization codes.',
  ],
  passwordToo: [
    { ...CODE, grant_types: ['authorization_code', 'password'] },
    'imported',
    'authorization_code',
    'It loses grants that are not supported: password.',
  ],
  personal: [{ secret: A_HASH, grant_types: ['personal_access'] }, 'imported', 'device_code', PERSONAL],
  implicit: [
    { redirect_uris: ['https://a.example/'], grant_types: ['implicit'] },
    'skipped',
    null,
    'Its grants are not supported: implicit.',
  ],
  device: [{ secret: A_HASH, grant_types: [DEVICE, 'refresh_token'] }, 'imported', 'device_code'],
  machineWithoutSecret: [
    { grant_types: ['client_credentials'] },
    'skipped',
    null,
    'It uses client credentials without a secret.',
  ],
  argon: [
    {
      secret: '$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$aGFzaA',
      grant_types: ['client_credentials'],
    },
    'imported',
    'client_credentials',
    'It has no permissions yet, because Passport has none for clients. Add them with `gatehouse client permissions`.',
    'Its secret is hashed with argon2id, which is not supported. Give it a new one with `gatehouse client secrets add`.',
  ],
  team: [
    { ...CODE, owner_type: 'App\\Models\\Team', owner_id: 1 },
    'imported',
    'authorization_code',
    'It has no owner here: it was owned by App\\Models\\Team, not by a user.',
  ],
  admins: [
    { ...CODE, provider: 'admins' },
    'imported',
    'authorization_code',
    'It was for the users of the provider "admins" only; here it is for all, and its tokens are not accepted.',
  ],
  damaged: [
    { ...CODE, name: 'bad\u{202e}name' },
    'refused',
    'authorization_code',
    'name: leave out control characters',
  ],
  insecure: [
    { ...CODE, redirect_uris: ['http://app.test/cb', 'https://a.example/', 'http://localhost/cb'] },
    'imported',
    'authorization_code',
    'Redirect URIs with http are not imported (RFC 9700 section 2.6): http://app.test/cb. Register them with https.',
  ],
  insecureOnly: [
    { ...CODE, redirect_uris: ['http://app.test/cb'] },
    'refused',
    'authorization_code',
    'redirectUris[0]: use https; http is for loopback addresses only, such as http://localhost (RFC 9700 section 2.6) (http://app.test/cb)',
  ],
  commas: [CODE, 'imported', 'authorization_code'],
};

test('each client of Passport 13 is imported or skipped with a reason; redirect URIs with http are omitted', async (t) => {
  const database = await migrated();
  const ids = Object.fromEntries(Object.keys(CLIENTS).map((name) => [name, randomUUID()]));
  const rows = Object.entries(CLIENTS).map(([name, [fields]]) => row13({ id: ids[name], name, ...fields }));
  const source = await createLaravelDatabase('13', rows);
  const laravel = connectHost('better-sqlite3', source);
  await laravel('oauth_clients')
    .where({ name: 'commas' })
    .update({ redirect_uris: 'https://a.example/,https://b.example/' });
  await laravel.destroy();
  const { clients } = await gatehouseJson<ImportDocument>(importArguments(database, source, '--yes'));
  for (const [name, [, ...result]] of Object.entries(CLIENTS)) {
    const found = clients.find((one) => one.client_id === ids[name])!;
    const errors = found.errors.map(({ field, message }) => `${field}: ${message}`);
    t.deepEqual([found.result, found.grant_type, ...found.notes, ...errors], result, name);
  }
  const administration = createAdministration({ storage: knexStorage(database) });
  for (const [name, fields] of [
    ['commas', { redirectUris: ['https://a.example/', 'https://b.example/'] }],
    ['insecure', { redirectUris: ['https://a.example/', 'http://localhost/cb'] }],
    ['team', { ownerId: undefined }],
  ] as const)
    like(t, await administration.clients.find(ids[name]!), fields);
  t.deepEqual(await administration.clients.secrets(ids['argon']!), []);
  await administration.close();
});

test('no usable secret is stored, and none is printed', async (t) => {
  const database = await migrated();
  const hash = phpHash('portal-secret');
  const source = await createLaravelDatabase('11', [
    row12({ id: 1, name: 'Plain', secret: PLAIN }),
    row12({ id: 2, name: 'Hashed', secret: hash }),
  ]);
  const { errors, output } = await gatehouse(importArguments(database, source, '--yes', '--json'));
  for (const secret of [PLAIN, hash]) t.false((output + errors).includes(secret));
  const storage = knexStorage(database);
  for (const [id, stored] of [
    ['1', { hash: createHash('sha256').update(PLAIN).digest('base64url'), hint: PLAIN.slice(-4) }],
    ['2', { hash, hint: '' }],
  ] as const)
    like(t, (await storage.clients.find(id))!.secrets, [{ ...stored, label: 'imported' }]);
  await storage.close();
});

test('a source that cannot be read, and missing options, are errors that say what to do', async (t) => {
  const database = await migrated();
  const base = ['client', 'import', '--database', database];
  for (const [words, expected, message] of [
    [
      importArguments(database, database),
      2,
      /^source: this database has no table oauth_clients; pass the database of the Laravel app, and the prefix of its tables if they have one\.\n$/,
    ],
    [
      importArguments(database, `sqlite:${temporaryFile()}`),
      1,
      /^The database of the Laravel app cannot be read \(SQLITE_CANTOPEN\): the file cannot be opened; check its path and its permissions\.\n$/,
    ],
    [
      importArguments(database, 'postgres://root:geheim@127.0.0.1:1/laravel'),
      1,
      /^The database of the Laravel app cannot be read \(ECONNREFUSED 127\.0\.0\.1:1\): nothing answers there; start the database server, or correct the address\.\n$/,
    ],
    [base, 2, /required option '--from <server>' not specified/],
    [[...base, '--from', 'hydra'], 2, /argument 'hydra' is invalid\. Allowed choices are laravel-passport\./],
    [[...base, '--from', 'laravel-passport'], 2, /^Give the database of the Laravel app: --source URL/],
    [
      importArguments(database, 'x.db', '--yes', '--dry-run'),
      2,
      /'--dry-run' cannot be used with option '--yes'/,
    ],
  ] as const) {
    const { code, errors, output } = await gatehouse(words);
    t.deepEqual([code, output], [expected, ''], errors);
    t.regex(errors, message);
  }
});
