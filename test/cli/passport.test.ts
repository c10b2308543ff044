// Alone, first: it fills and moves whole databases.
import { createHash, randomUUID } from 'node:crypto';

import test from 'ava';
import { hashSync } from 'bcryptjs';
import type { Knex } from 'knex';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachEmptyDatabase } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectHost } from '../adapters/host-knex.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { gatehouse, gatehouseJson } from './gatehouse.ts';
import { CREATE_TABLE, row12, row13 } from './passport-tables.ts';

interface ImportDocument {
  readonly dry_run: boolean;
  readonly interrupted: boolean;
  readonly imported: number;
  readonly present: number;
  readonly skipped: number;
  readonly refused: number;
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
  version: '12.x' | '13.x',
  rows: readonly Record<string, unknown>[],
  client: TestDatabase['client'] = 'better-sqlite3',
  address = `sqlite:${temporaryFile('createLaravelDatabase.sqlite')}`,
): Promise<string> {
  const database: Knex = connectHost(client, address, { min: 0, max: 1 });
  await database.raw(CREATE_TABLE[version][client]);
  if (rows.length > 0) await database('oauth_clients').insert(rows);
  await database.destroy();
  return address;
}

/** A migrated database. */
async function migrated(address = `sqlite:${temporaryFile()}`): Promise<string> {
  const storage = knexStorage(address);
  await storage.migrate();
  await storage.close();
  return address;
}

function importArguments(database: string, source: string, ...more: readonly string[]): string[] {
  return ['client', 'import', '--from', 'passport', '--database', database, '--source', source, ...more];
}

async function clientCredentials(
  platform: Platform,
  id: string | number,
  secret: string,
): ReturnType<Platform['token']> {
  return platform.token({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
}

const PLAIN = 'Zk3vTq9XbR7mWc2LhYpN8sDfGj5AuEo1iKtVrB6x';

for (const version of ['12.x', '13.x'] as const) {
  onEachEmptyDatabase(
    `clients of Passport ${version} get tokens with their old secrets`,
    async (t, { client }, address) => {
      // One database for both, as in an app that moves.
      const isOld = version === '12.x';
      const uuid = randomUUID();
      const callback = 'https://portal.example/callback';
      const rows = isOld
        ? [
            row12({ id: 7, name: 'Nightly', secret: PLAIN }),
            row12({
              id: 8,
              name: 'Portal',
              secret: phpHash('portal-secret'),
              redirect: `${callback}, https://b.example/`,
              user_id: 5,
            }),
          ]
        : [
            row13({ id: uuid, name: 'Nightly', secret: phpHash(PLAIN), grant_types: ['client_credentials'] }),
            row13({
              id: randomUUID(),
              name: 'Portal',
              secret: phpHash('portal-secret'),
              redirect_uris: [callback, 'https://b.example/'],
              grant_types: ['authorization_code', 'refresh_token'],
              owner_type: 'App\\Models\\User',
              owner_id: 5,
            }),
          ];
      await migrated(address);
      await createLaravelDatabase(version, rows, client, address);

      const document = await gatehouseJson<ImportDocument>(importArguments(address, address, '--yes'));
      t.like(document, { dry_run: false, imported: 2, present: 0, skipped: 0, refused: 0 });

      await using platform = await startPlatform({ storage: knexStorage(address) });
      const service = isOld ? 7 : uuid;
      t.like(await clientCredentials(platform, service, `${PLAIN}x`), {
        status: 401,
        body: { error: 'invalid_client' },
      });
      t.like(await clientCredentials(platform, service, PLAIN), {
        status: 200,
        body: { token_type: 'Bearer' },
      });
      t.like(await clientCredentials(platform, service, PLAIN), { status: 200 });

      const portal = await platform.auth.clients.find(String(rows[1]!['id']));
      t.like(portal, {
        name: 'Portal',
        grantType: 'authorization_code',
        redirectUris: [callback, 'https://b.example/'],
        confidential: true,
        ownerId: '5',
        disabled: false,
        createdAt: Date.parse(isOld ? '2021-03-04T05:06:07Z' : '2025-03-04T05:06:07Z') / 1000,
      });
      const given = await authorize(platform, { client: portal!, secret: '', redirectUri: callback });
      const exchange = {
        grant_type: 'authorization_code',
        client_id: portal!.id,
        redirect_uri: callback,
        code: given.get('code'),
      };
      t.like(await platform.token({ ...exchange, client_secret: 'wrong' }), { status: 401 });
      t.like(await platform.token({ ...exchange, client_secret: 'portal-secret' }), { status: 200 });

      // The first use replaced the bcrypt hashes.
      for (const { id } of await platform.auth.clients.list()) {
        const [secret] = await platform.auth.clients.secrets(id);
        t.regex(secret!.hash, /^[\w-]{43}$/);
      }
    },
  );
}

onEachEmptyDatabase('a client limited to scopes is imported with them', async (t, { client }, address) => {
  const callback = 'https://portal.example/callback';
  const codes = { redirect_uris: [callback], grant_types: ['authorization_code', 'refresh_token'] };
  const limits: Readonly<Record<string, readonly string[] | undefined>> = {
    One: ['schools:read'],
    None: [],
    All: ['*'],
    Unlimited: undefined,
  };
  const rows = Object.keys(limits).map((name) =>
    row13({ id: randomUUID(), name, secret: phpHash(PLAIN), ...codes }),
  );
  await migrated(address);
  await createLaravelDatabase('13.x', rows, client, address);
  // Passport has no such column, but reads it where an app has added one.
  const database = connectHost(client, address, { min: 0, max: 1 });
  await database.schema.alterTable('oauth_clients', (table) => void table.text('scopes'));
  for (const [name, scopes] of Object.entries(limits)) {
    if (scopes)
      await database('oauth_clients')
        .where({ name })
        .update({ scopes: JSON.stringify(scopes) });
  }
  await database.destroy();
  await gatehouseJson<ImportDocument>(importArguments(address, address, '--yes'));

  await using platform = await startPlatform({
    storage: knexStorage(address),
    scopes: {
      'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
      'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
    },
  });
  const imported = new Map((await platform.auth.clients.list()).map((one) => [one.name, one]));
  for (const [name, scopes] of Object.entries(limits)) {
    t.deepEqual(imported.get(name)?.scopes, scopes?.includes('*') ? undefined : scopes, name);
  }
  const browser = new Browser();
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  for (const [name, error] of [
    ['One', 'invalid_scope'],
    ['None', 'invalid_scope'],
    ['All', null],
    ['Unlimited', null],
  ] as const) {
    const app = { client: imported.get(name)!, secret: PLAIN, redirectUri: callback };
    const given = await authorize(platform, app, { browser, parameters: { scope: 'schools:write' } });
    t.is(given.get('error'), error, name);
  }
});

test('without --yes, import prints what it would do and changes nothing; it can be run again', async (t) => {
  const database = await migrated();
  const source = await createLaravelDatabase('12.x', [
    row12({
      id: 1,
      name: 'Personal',
      secret: PLAIN,
      redirect: 'http://localhost',
      personal_access_client: true,
    }),
    row12({
      id: 2,
      name: 'Password',
      secret: PLAIN,
      redirect: 'http://localhost',
      password_client: true,
      provider: 'users',
    }),
    row12({ id: 3, name: 'Nightly', secret: PLAIN }),
    row12({ id: 4, name: 'Portal', secret: PLAIN, redirect: 'https://portal.example/callback' }),
    row12({
      id: 5,
      name: 'Broken',
      redirect: 'https://ok.example/, https://no.example/#here, ftp://no.example/',
    }),
    row12({ id: 6, name: 'Old', redirect: 'https://old.example/', revoked: true }),
  ]);
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

 1. A personal access client: its tokens are accepted with the option passport. Users make new ones with the option tokens.personal.
 2. A password client: its tokens are accepted and refreshed with the option passport. The password grant is not supported (RFC 9700 section 2.4): users who log in anew use a device code, or another client with authorization codes.
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

  t.like(await gatehouseJson<ImportDocument>(importArguments(database, source, '--yes')), {
    dry_run: false,
    imported: 5,
    present: 0,
    skipped: 0,
    refused: 1,
  });
  t.like(await gatehouseJson<ImportDocument>(importArguments(database, source, '--yes')), {
    imported: 0,
    present: 5,
  });
  t.like(await gatehouseJson<ImportDocument>(importArguments(database, source)), {
    dry_run: true,
    imported: 0,
    present: 5,
  });
});

test('a revoked client is disabled, a public one stays public: PKCE, and private schemes for an app', async (t) => {
  const database = await migrated();
  const redirect = 'com.example.app:/callback';
  const source = await createLaravelDatabase('12.x', [
    row12({ id: 3, name: 'Nightly', secret: PLAIN, revoked: true }),
    row12({ id: 9, name: 'Phone', redirect }),
  ]);
  await gatehouseJson(importArguments(database, source, '--yes'));
  await using platform = await startPlatform({ storage: knexStorage(database) });
  t.like(await clientCredentials(platform, 3, PLAIN), { status: 401, body: { error: 'invalid_client' } });
  t.like(await platform.auth.clients.find('3'), { disabled: true, disabledBy: undefined });
  await platform.auth.clients.enable('3');
  t.like(await clientCredentials(platform, 3, PLAIN), { status: 200 });

  const client = await platform.auth.clients.find('9');
  t.like(client, { confidential: false, native: true });
  const { parameters, verifier } = pkce();
  const app = { client: client!, secret: '', redirectUri: redirect };
  const given = await authorize(platform, app, { parameters });
  const answer = await platform.token({
    grant_type: 'authorization_code',
    client_id: 9,
    redirect_uri: redirect,
    code: given.get('code'),
    code_verifier: verifier,
  });
  t.is(answer.status, 200);
});

test('each client of Passport 13, or of an upgrade to it, is imported or skipped with a reason', async (t) => {
  const database = await migrated();
  const everything = [
    'authorization_code',
    'client_credentials',
    'implicit',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:device_code',
  ];
  const clients: Record<string, Record<string, unknown>> = {
    both: { secret: phpHash('x'), redirect_uris: ['https://a.example/'], grant_types: everything },
    upgradedPersonal: {
      secret: phpHash('x'),
      redirect_uris: ['http://localhost'],
      grant_types: [...everything, 'personal_access'],
    },
    upgradedPassword: {
      secret: phpHash('x'),
      redirect_uris: ['http://localhost'],
      grant_types: [...everything, 'password'],
    },
    passwordToo: {
      secret: phpHash('x'),
      redirect_uris: ['https://a.example/'],
      grant_types: ['authorization_code', 'password'],
    },
    personal: { secret: phpHash('x'), grant_types: ['personal_access'] },
    implicit: { redirect_uris: ['https://a.example/'], grant_types: ['implicit'] },
    device: {
      secret: phpHash('x'),
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    },
    machineWithoutSecret: { grant_types: ['client_credentials'] },
    argon: {
      secret: '$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$aGFzaA',
      grant_types: ['client_credentials'],
    },
    team: {
      secret: phpHash('x'),
      redirect_uris: ['https://a.example/'],
      grant_types: ['authorization_code'],
      owner_type: 'App\\Models\\Team',
      owner_id: 1,
    },
    admins: {
      secret: phpHash('x'),
      redirect_uris: ['https://a.example/'],
      grant_types: ['authorization_code'],
      provider: 'admins',
    },
    damaged: {
      secret: phpHash('x'),
      redirect_uris: ['https://a.example/'],
      grant_types: ['authorization_code'],
      name: 'bad\u{202e}name',
    },
    commas: { secret: phpHash('x'), grant_types: ['authorization_code'] },
  };
  const ids = new Map(Object.keys(clients).map((name) => [name, randomUUID()]));
  const rows = Object.entries(clients).map(([name, fields]) => row13({ id: ids.get(name), name, ...fields }));
  rows.at(-1)!['redirect_uris'] = 'https://a.example/,https://b.example/';
  const source = await createLaravelDatabase('13.x', rows);

  const document = await gatehouseJson<ImportDocument>(importArguments(database, source, '--yes'));
  const results = Object.fromEntries(
    [...ids].map(([name, id]) => {
      const { errors, grant_type, notes, result } = document.clients.find((one) => one.client_id === id)!;
      return [
        name,
        [result, grant_type, ...notes, ...errors.map(({ field, message }) => `${field}: ${message}`)],
      ];
    }),
  );
  const PERSONAL =
    'A personal access client: its tokens are accepted with the option passport. Users make new ones with the option tokens.personal.';
  t.deepEqual(results, {
    both: [
      'imported',
      'authorization_code',
      'It keeps the authorization code grant only. If it also uses client credentials, register another client for that.',
      'It loses grants that are not supported: implicit, urn:ietf:params:oauth:grant-type:device_code.',
    ],
    upgradedPersonal: ['imported', 'device_code', PERSONAL],
    upgradedPassword: [
      'imported',
      'device_code',
      'A password client: its tokens are accepted and refreshed with the option passport. The password grant is not supported (RFC 9700 section 2.4): users who log in anew use a device code, or another client with authorization codes.',
    ],
    passwordToo: ['imported', 'authorization_code', 'It loses grants that are not supported: password.'],
    personal: ['imported', 'device_code', PERSONAL],
    implicit: ['skipped', null, 'Its grants are not supported: implicit.'],
    device: ['imported', 'device_code'],
    machineWithoutSecret: ['skipped', null, 'It uses client credentials without a secret.'],
    argon: [
      'imported',
      'client_credentials',
      'It has no permissions yet, because Passport has none for clients. Add them with `gatehouse client permissions`.',
      'Its secret is hashed with argon2id, which is not supported. Give it a new one with `gatehouse client secrets add`.',
    ],
    team: [
      'imported',
      'authorization_code',
      'It has no owner here: it was owned by App\\Models\\Team, not by a user.',
    ],
    admins: [
      'imported',
      'authorization_code',
      'It was for the users of the provider "admins" only; here it is for all, and its tokens are not accepted.',
    ],
    damaged: ['refused', 'authorization_code', 'name: leave out control characters'],
    commas: ['imported', 'authorization_code'],
  });
  const administration = createAdministration({ storage: knexStorage(database) });
  t.deepEqual((await administration.clients.find(ids.get('commas')!))?.redirectUris, [
    'https://a.example/',
    'https://b.example/',
  ]);
  t.is((await administration.clients.find(ids.get('team')!))?.ownerId, undefined);
  t.deepEqual(await administration.clients.secrets(ids.get('argon')!), []);
  await administration.close();
});

test('no usable secret is stored, and none is printed', async (t) => {
  const database = await migrated();
  const hash = phpHash('portal-secret');
  const source = await createLaravelDatabase('12.x', [
    row12({ id: 1, name: 'Plain', secret: PLAIN }),
    row12({ id: 2, name: 'Hashed', secret: hash }),
  ]);
  const { errors, output } = await gatehouse(importArguments(database, source, '--yes', '--json'));
  for (const secret of [PLAIN, hash]) t.false((output + errors).includes(secret));
  const storage = knexStorage(database);
  const plain = (await storage.clients.find('1'))!.secrets;
  t.like(plain, [
    {
      hash: createHash('sha256').update(PLAIN).digest('base64url'),
      hint: PLAIN.slice(-4),
      label: 'imported',
    },
  ]);
  t.like((await storage.clients.find('2'))!.secrets, [{ hash, hint: '', label: 'imported' }]);
  await storage.close();
});

test('the database of the Laravel app is only read, even while the app uses it', async (t) => {
  const database = await migrated();
  const source = await createLaravelDatabase('12.x', [row12({ id: 1, name: 'Plain', secret: PLAIN })]);
  const app = connectHost('better-sqlite3', source);
  await app.raw('begin immediate');
  t.like(await gatehouseJson<ImportDocument>(importArguments(database, source, '--yes')), { imported: 1 });
  await app.raw('rollback');
  t.is((await app.raw('pragma journal_mode'))[0].journal_mode, 'delete');
  await app.destroy();
});

for (const [what, prepare, expected, message] of [
  [
    'a database without the table',
    async () => migrated(),
    2,
    'source: this database has no table oauth_clients; pass the database of the Laravel app, and the prefix of its tables if they have one.\n',
  ],
  [
    'a file that is not there',
    async () => `sqlite:${temporaryFile()}`,
    1,
    'The database of the Laravel app cannot be read (SQLITE_CANTOPEN): the file cannot be opened; check its path and its permissions.\n',
  ],
  [
    'a server that does not answer',
    async () => 'postgres://root:geheim@127.0.0.1:1/createLaravelDatabase',
    1,
    'The database of the Laravel app cannot be read (ECONNREFUSED 127.0.0.1:1): nothing answers there; start the database server, or correct the address.\n',
  ],
] as const) {
  test(`import from ${what} fails with a message`, async (t) => {
    const { code, errors, output } = await gatehouse(importArguments(await migrated(), await prepare()));
    t.deepEqual([code, output], [expected, '']);
    t.is(errors, message);
  });
}

test('import requires its options', async (t) => {
  const database = await migrated();
  const base = ['client', 'import', '--database', database];
  const runs: [string[], RegExp][] = [
    [base, /required option '--from <server>' not specified/],
    [[...base, '--from', 'hydra'], /argument 'hydra' is invalid\. Allowed choices are passport\./],
    [[...base, '--from', 'passport'], /^Give the database of the Laravel app: --source URL/],
    [
      importArguments(database, 'x.db', '--yes', '--dry-run'),
      /'--dry-run' cannot be used with option '--yes'/,
    ],
  ];
  for (const [words, message] of runs) {
    const { code, errors } = await gatehouse(words);
    t.is(code, 2);
    t.regex(errors, message);
  }
});

test('redirect URIs with http are omitted, and a client without any other is not imported', async (t) => {
  const [some, none] = [randomUUID(), randomUUID()];
  const code = { grant_types: ['authorization_code', 'refresh_token'], secret: phpHash('x') };
  const source = await createLaravelDatabase('13.x', [
    row13({
      ...code,
      id: some,
      name: 'Some',
      redirect_uris: [
        'http://app.test/callback',
        'https://app.example/callback',
        'http://localhost/callback',
      ],
    }),
    row13({ ...code, id: none, name: 'None', redirect_uris: ['http://app.test/callback'] }),
  ]);
  const database = await migrated();
  const { clients } = await gatehouseJson<ImportDocument>(importArguments(database, source, '--yes'));
  const imported = clients.find((one) => one.client_id === some);
  t.is(imported?.result, 'imported');
  t.true(
    imported?.notes.includes(
      'Redirect URIs with http are not imported (RFC 9700 section 2.6): http://app.test/callback. Register them with https.',
    ),
    imported?.notes.join(),
  );
  t.like(
    clients.find((one) => one.client_id === none),
    {
      result: 'refused',
      errors: [
        {
          field: 'redirectUris[0]',
          message:
            'use https; http is for loopback addresses only, such as http://localhost (RFC 9700 section 2.6) (http://app.test/callback)',
        },
      ],
    },
  );
  const storage = knexStorage(database);
  t.deepEqual((await storage.clients.find(some))?.client.redirectUris, [
    'https://app.example/callback',
    'http://localhost/callback',
  ]);
  await storage.close();
});
