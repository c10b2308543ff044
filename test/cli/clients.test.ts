import { writeFileSync } from 'node:fs';

import test from '../harness/test.ts';
import { calculateJwkThumbprint } from 'jose';
import { createAdministration } from 'koa-gatehouse';
import type { Administration, ClientFields } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { like } from '../harness/like.ts';
import { png } from '../harness/pictures.ts';
import { startPlatform } from '../harness/platform.ts';
import { gateFile, gatehouse, gatehouseJson, migrated, runAtOnce } from './gatehouse.ts';
import type { Outcome } from './gatehouse.ts';

interface ClientDocument {
  readonly client: { readonly client_id: string } & Record<string, unknown>;
  readonly client_secret: string | null;
  readonly secret: Record<string, unknown>;
  readonly secrets: readonly Record<string, unknown>[];
  readonly notes: readonly string[];
}

interface Database extends AsyncDisposable {
  readonly address: string;
  readonly clients: Administration['clients'];
  readonly run: (command: string) => Promise<Outcome>;
  /** Runs `gatehouse client …`, and returns its document. */
  readonly client: (command: string) => Promise<ClientDocument>;
  /** Registers a client for itself, or with other fields. */
  readonly register: (fields?: Partial<ClientFields>) => Promise<string>;
}

/** A database, and the command and an administration on it. */
async function database(): Promise<Database> {
  const DATABASE_URL = await migrated();
  const administration = createAdministration({ storage: knexStorage(DATABASE_URL) });
  const { clients } = administration;
  return {
    address: DATABASE_URL,
    clients,
    run: async (command) => gatehouse(command, { DATABASE_URL }),
    client: async (command) => gatehouseJson<ClientDocument>(`client ${command}`, { DATABASE_URL }),
    async register(fields = {}) {
      const made = await clients.create({ name: 'Nightly', grantType: 'client_credentials', ...fields });
      return made.client.id;
    },
    [Symbol.asyncDispose]: () => administration.close(),
  };
}

const REDIRECT = '--grant-type authorization_code --redirect-uri';

test('a client created on the command line gets tokens; its secret is shown once', async (t) => {
  await using given = await database();
  const created = await given.client('create --name Nightly --grant-type client_credentials');
  const { client_id: id, created_at: at, updated_at: updated, ...fields } = created.client;
  t.regex(id, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  t.regex(String(at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
  t.is(at, updated);
  t.deepEqual(fields, {
    name: 'Nightly',
    backchannel_logout_uri: null,
    client_uri: null,
    logo: null,
    verified: false,
    source: 'manual',
    grant_type: 'client_credentials',
    redirect_uris: [],
    post_logout_redirect_uris: [],
    confidential: true,
    keys: null,
    jwks_uri: null,
    native: false,
    first_party: false,
    scopes: null,
    roles: [],
    permissions: [],
    owner_id: null,
    disabled: false,
    disabled_by: null,
    lifetimes: { access_token: null, refresh_token: null, refresh_token_absolute: null },
  });
  t.deepEqual(created.notes, []);
  const shown = await given.run(`client show ${id} --json`);
  t.false(shown.output.includes(created.client_secret!));
  const { secrets } = JSON.parse(shown.output) as ClientDocument;
  t.deepEqual(Object.keys(secrets[0]!), ['id', 'label', 'hint', 'created_at', 'expires_at', 'last_used_at']);
  t.deepEqual(created.secret, { ...secrets[0]!, last_used_at: null });
  t.like(secrets[0], { label: 'first', hint: created.client_secret!.slice(-4), expires_at: null });

  // As text too, as another secret, and as the new one of a rotation.
  await using platform = await startPlatform({ storage: knexStorage(given.address) });
  const printed = [`Client ID ${id}\nClient secret ${created.client_secret}`];
  for (const words of [
    `secrets add ${await given.register()}`,
    `rotate-secret ${await given.register()} --yes`,
    'create --name Hourly --grant-type client_credentials',
  ])
    printed.push((await given.run(`client ${words}`)).output);
  for (const output of printed) {
    const [, client_id] = /^Client ID +(\S+)$/m.exec(output) ?? [];
    const [, client_secret] = /^Client secret +(\S+)$/m.exec(output) ?? [];
    const answer = await platform.token({ grant_type: 'client_credentials', client_id, client_secret });
    t.is(answer.status, 200, output);
  }
});

test('without --json, the secret is printed below the client', async (t) => {
  await using given = await database();
  const { code, errors, output } = await given.run(
    `client create --name Portal ${REDIRECT} https://a.example/ --redirect-uri https://b.example/ --owner-id 5 --first-party --scope schools:read`,
  );
  t.is(code, 0);
  t.regex(
    output,
    /^Client ID {6}[\da-f-]{36}\nName {11}Portal\nGrant type {5}authorization_code\nKind {11}confidential\nStatus {9}enabled\nRedirect URIs {2}https:\/\/a\.example\/\n {15}https:\/\/b\.example\/\nConsent {8}not asked: first-party\nScopes {9}schools:read\nOwner {10}5\n/,
  );
  t.regex(
    output,
    /\nClient secret {2}gatehouse_secret_[\w-]{43}\n\nThe secret is shown only once\. Store it in the configuration of the app\.\n$/,
  );
  t.is(errors, 'Note: Not checked, because --gate is missing: schools:read.\n');
});

test('--gate knows the scopes of all APIs, and those of OpenID Connect when it exports the option', async (t) => {
  await using given = await database();
  const gate = 'export const gate = defineGate({ permissions: {} }); export const scopes = {};';
  const example = new URL('../../examples/server/gate.ts', import.meta.url).pathname;
  const openid = gateFile(
    `import { openid } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))}; ${gate} export const features = [openid({ scopes: { groups: { description: 'See your groups', claims: ['groups'] } } })];`,
  );
  for (const [file, scopes, unknown] of [
    [example, ['profile', 'statistics:read', 'schools:close'], undefined],
    [example, ['statistics:write'], 'statistics:write'],
    [openid, ['openid', 'email', 'groups'], undefined],
    [gateFile(gate), ['openid'], 'openid'],
  ] as const) {
    const { code, errors, output } = await given.run(
      `--gate ${file} client create --name Agent ${REDIRECT} https://a.example/ ${scopes.map((scope) => `--scope ${scope}`).join(' ')}`,
    );
    if (unknown === undefined) {
      t.deepEqual([code, errors], [0, '']);
      t.true(output.includes(`\nScopes         ${scopes.join(`\n${' '.repeat(15)}`)}\n`), output);
    } else t.deepEqual([code, errors], [2, `scopes: there is no scope "${unknown}"\n`]);
  }
});

test('public and native clients have no secret, and one for devices with or without', async (t) => {
  await using given = await database();
  const device = '--grant-type device_code';
  for (const [words, expected, kind] of [
    [`${REDIRECT} https://app.example/ --public`, { confidential: false, native: false }, 'public'],
    [
      `${REDIRECT} com.example.app:/callback --native`,
      { confidential: false, native: true },
      'public, native',
    ],
    [`${device} --public`, { grant_type: 'device_code', confidential: false }, 'public'],
    [device, { grant_type: 'device_code', confidential: true }, 'confidential'],
  ] as const) {
    const { client, client_secret: secret } = await given.client(`create --name 'School CLI' ${words}`);
    t.like(client, expected);
    t.is(secret !== null, expected.confidential);
    const { output } = await given.run(`client show ${client.client_id}`);
    t.true(output.includes(`\nKind           ${kind}\n`), output);
    if (words.startsWith(device)) t.regex(output, /\nConsent {8}asked each time\n/);
  }
});

test('secrets are added, listed, deleted and rotated', async (t) => {
  await using given = await database();
  const { client, clients } = given;
  const id = await given.register();
  const [first] = await clients.secrets(id);

  const added = await client(`secrets add ${id} --label May --expires-at 2099-05-31`);
  t.regex(added.client_secret!, /^gatehouse_secret_/);
  const hint = added.client_secret!.slice(-4);
  t.like(added.secret, { label: 'May', hint, expires_at: '2099-05-31T00:00:00.000Z' });
  const listed = await given.run(`client secrets ${id}`);
  t.regex(listed.output, /^Secret ID +Label  Ends in  Created \(UTC\) +Expires \(UTC\) +Last used \(UTC\)\n/);
  t.regex(listed.output, /\bMay +\S{4} +\d{4}-\d\d-\d\d \d\d:\d\d  2099-05-31 00:00  never\n/);

  await client(`secrets delete ${id} ${first!.id} --yes`);
  like(t, await clients.secrets(id), [{ label: 'May' }]);
  t.like(await client(`rotate-secret ${id} --overlap 3600 --label June`), { secret: { label: 'June' } });
  const ends = new Map((await clients.secrets(id)).map(({ expiresAt, label }) => [label, expiresAt]));
  t.is(ends.get('June'), undefined);
  t.true(ends.get('May')! <= Date.now() / 1000 + 3600);
  const rotated = await client(`rotate-secret ${id} --yes`);
  t.deepEqual(
    (await clients.secrets(id)).map((secret) => secret.hint),
    [rotated.client_secret!.slice(-4)],
  );
});

test('update changes only the given fields', async (t) => {
  await using given = await database();
  const id = await given.register({
    grantType: 'authorization_code',
    redirectUris: ['https://a.example/'],
    ownerId: '5',
    scopes: ['schools:read'],
  });
  const first = await given.client(`update ${id} --name Gate --redirect-uri https://b.example/`);
  t.like(first.client, { name: 'Gate', owner_id: '5' });
  t.deepEqual(first.client['redirect_uris'], ['https://b.example/']);
  t.deepEqual(first.client['scopes'], ['schools:read']);
  const second = await given.client(`update ${id} --no-owner-id --all-scopes --first-party`);
  t.like(second.client, { name: 'Gate', owner_id: null, scopes: null, first_party: true });
  const nothing = await given.run(`client update ${id}`);
  t.is(nothing.code, 2);
  t.is(nothing.errors, 'Give a field to change; `gatehouse client update --help` lists the options.\n');
});

test('a client gets a homepage, a logo and the mark of a verified one', async (t) => {
  await using given = await database();
  const { client } = given;
  const homepage = '--client-uri https://a.example --verified';
  const made = await client(`create --name Portal ${REDIRECT} https://a.example/ ${homepage}`);
  t.like(made.client, { client_uri: 'https://a.example', logo: null, verified: true });
  const { client_id: id } = made.client;
  const file = temporaryFile();
  writeFileSync(file, png());
  const withLogo = await client(`logo ${id} ${file}`);
  t.regex(String(withLogo.client['logo']), /^[\w-]{43}$/);
  t.false(withLogo.client['verified']);
  t.deepEqual(withLogo.notes, [`Users see it after \`gatehouse client update ${id} --verified\`.`]);
  t.like(await client(`update ${id} --verified`), { client: { verified: true } });
  const { output } = await given.run(`client show ${id}`);
  t.regex(output, /\nName +Portal\nHomepage +https:\/\/a\.example\nLogo +SHA-256 [\w-]{43}\nVerified +yes\n/);
  for (const [words, changed] of [
    [`update ${id} --name Gate --verified --no-client-uri`, { client_uri: null, verified: true }],
    [`update ${id} --no-verified`, { name: 'Gate', verified: false }],
    [`logo ${id} --remove`, { logo: null }],
  ] as const)
    t.like((await client(words)).client, changed);

  writeFileSync(file, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  for (const [more, message] of [
    [file, /logo: give a PNG or JPEG picture of at most 1024 pixels in width and height/],
    [`${file}-none`, /^There is no file .*-none\.\n$/],
    ['', /^Give a file, or --remove\.\n$/],
    [`${file} --remove`, /^Give a file, or --remove\.\n$/],
  ] as const) {
    const { code, errors } = await given.run(`client logo ${id} ${more}`);
    t.is(code, 2, errors);
    t.regex(errors, message);
  }
});

test('lifetimes are set, changed one at a time and removed', async (t) => {
  await using given = await database();
  const service = 'create --name Nightly --grant-type client_credentials';
  const made = await given.client(`${service} --access-token-lifetime '15 minutes'`);
  t.like(made.client['lifetimes'], { access_token: 900, refresh_token: null });
  const id = await given.register({
    grantType: 'authorization_code',
    redirectUris: ['https://a.example/'],
    lifetimes: { accessToken: '15 minutes', refreshToken: '1 hour' },
  });
  for (const [words, access, refresh, absolute] of [
    ['--refresh-token-lifetime 1day --refresh-token-absolute-lifetime 864000', 900, 86_400, 864_000],
    ["--server-lifetimes --access-token-lifetime '1 h'", 3600, null, null],
    ['--server-lifetimes', null, null, null],
    ['--refresh-token-lifetime 1day --refresh-token-absolute-lifetime 864000', null, 86_400, 864_000],
  ] as const) {
    const { client } = await given.client(`update ${id} ${words}`);
    t.deepEqual(client['lifetimes'], {
      access_token: access,
      refresh_token: refresh,
      refresh_token_absolute: absolute,
    });
  }
  const shown = await given.run(`client show ${id}`);
  t.regex(shown.output, /\nLifetimes +refresh token 86400 s\n +an authorization 864000 s\n/);

  const gate = gateFile(
    "export const gate = defineGate({ permissions: {} }); export const lifetimes = 'short';",
  );
  for (const [words, message] of [
    [`client update ${id} --access-token-lifetime soon`, /'soon' is invalid\. Give seconds, or a number and/],
    [
      `--gate ${gate} client update ${id} --access-token-lifetime '1 day'`,
      /^lifetimes\.accessToken: at most 3600 s, which is the server's own/,
    ],
  ] as const) {
    const { code, errors } = await given.run(words);
    t.is(code, 2);
    t.regex(errors, message);
  }
});

test('permissions are added and removed, and checked with --gate', async (t) => {
  await using given = await database();
  const id = await given.register();
  const gate = gateFile(
    `export const gate = defineGate({
       permissions: { view_schools: 'View schools', edit_schools: 'Edit schools' },
       roles: { registrar: ['view_schools', 'edit_schools'] },
     });`,
  );
  const run = async (words: string): Promise<Outcome> => given.run(`client permissions ${id} ${words}`);

  const wrong = await run(`--add view_shools --gate ${gate}`);
  t.deepEqual([wrong.code, wrong.errors], [2, 'permissions: there is no permission "view_shools"\n']);

  const right = await run(`--add view_schools --add-role registrar --gate ${gate} --json`);
  t.deepEqual(JSON.parse(right.output), {
    client_id: id,
    roles: ['registrar'],
    permissions: ['view_schools'],
    effective: [
      { permission: 'view_schools', sources: [{ type: 'direct' }, { type: 'role', role: 'registrar' }] },
      { permission: 'edit_schools', sources: [{ type: 'role', role: 'registrar' }] },
    ],
    notes: [],
  });

  const unchecked = await run('--remove view_schools --add view_shools');
  t.is(unchecked.errors, 'Note: Not checked, because --gate is missing: view_shools.\n');
  t.is(
    unchecked.output,
    `Client ID    ${id}\nName         Nightly\nRoles        registrar\nPermissions  view_shools\n`,
  );
});

test('permissions added by several commands at once are all added', async (t) => {
  await using given = await database();
  const id = await given.register();
  const permissions = ['edit_schools', 'view_grades', 'view_schools', 'view_users'];
  const { codes } = await runAtOnce(
    permissions.map((permission) => `client permissions ${id} --add ${permission}`),
    { DATABASE_URL: given.address },
  );
  t.deepEqual(codes, [0, 0, 0, 0]);
  t.deepEqual((await given.clients.find(id))?.permissions.toSorted(), permissions);
});

test('clients are listed by name, a page at a time', async (t) => {
  await using given = await database();
  for (const name of ['Zebra', '学校 🏫', 'alpha', 'Portal']) await given.register({ name });
  const [first, last] = await given.clients.list({ limit: 2 });
  const page = await given.run('client list --limit 2');
  t.is(
    page.output,
    `Client ID                             Name    Grant type          Status
${first!.id}  alpha   client_credentials  enabled
${last!.id}  Portal  client_credentials  enabled

There may be more: --after ${last!.id}
`,
  );
  const rest = await given.run(`client list --after ${last!.id}`);
  t.deepEqual(
    rest.output.split('\n').map((line) => line.slice(38)),
    [
      'Name     Grant type          Status',
      'Zebra    client_credentials  enabled',
      '学校 🏫  client_credentials  enabled',
      '',
    ],
  );
  like(t, await given.client('list --search PORT'), { clients: [{ name: 'Portal' }], next: null });
});

test('a client is disabled, enabled and deleted; what cannot be undone needs --yes; each change is an audit event', async (t) => {
  await using given = await database();
  const { clients } = given;
  const { client_id: id } = (await given.client('create --name Nightly --grant-type client_credentials'))
    .client;
  const disabled = await given.run(`client disable ${id}`);
  t.is(disabled.output, `"Nightly" (${id}) is disabled. Running servers apply it within seconds.\n`);
  t.like(await clients.find(id), { disabled: true, disabledBy: undefined });
  t.like(await given.client(`enable ${id}`), { client: { disabled: false, disabled_by: null } });

  const [secret] = await clients.secrets(id);
  for (const [words, question] of [
    [`delete ${id}`, `Delete "Nightly" (${id}) with its secrets, consents and tokens?`],
    [`rotate-secret ${id}`, 'Replace all secrets? The old ones stop working at once.'],
    [`secrets delete ${id} ${secret!.id}`, 'Delete the secret "first"? Apps that use it get no more tokens.'],
  ] as const) {
    const refused = await given.run(`client ${words}`);
    t.deepEqual([refused.code, refused.output, refused.errors], [2, '', `${question} Add --yes to do it.\n`]);
  }
  t.deepEqual(await clients.secrets(id), [secret!]);
  t.like(await given.client(`delete ${id} --yes`), { deleted: id });
  t.is(await clients.find(id), undefined);
  const storage = knexStorage(given.address);
  const records = await storage.audit.list({ clientId: id });
  t.deepEqual(records.map(({ type }) => type).toSorted(), [
    'client_created',
    'client_deleted',
    'client_disabled',
    'client_enabled',
    'secret_added',
  ]);
  await storage.close();
  for (const words of [`show ${id}`, `secrets ${id}`, `delete ${id} --yes`]) {
    const { code, errors, output } = await given.run(`client ${words}`);
    t.deepEqual([code, output], [1, '']);
    t.is(errors, `There is no client ${id}.\n\`gatehouse client list\` lists the clients.\n`);
  }
});

test('a client is registered with keys from a file or at a URL, and loses them', async (t) => {
  await using given = await database();
  const { client } = given;
  const { privateJwk, publicJwk } = await makeKeyPair('key-1');
  const file = `${temporaryFile()}.json`;
  writeFileSync(file, JSON.stringify({ keys: [publicJwk] }));
  const service = 'create --name Nightly --grant-type client_credentials';
  const created = await client(`${service} --jwks ${file}`);
  const thumbprint = await calculateJwkThumbprint(publicJwk);
  t.like(created, { client_secret: null, secret: null });
  t.deepEqual(created.client['keys'], [{ kid: 'key-1', kind: 'P-256', alg: null, thumbprint }]);
  t.deepEqual(created.notes, ['Servers accept the keys where their option clients.privateKeyJwt is true.']);
  const { client_id: id } = created.client;
  const shown = await given.run(`client show ${id}`);
  t.true(shown.output.includes(`P-256, kid key-1, SHA-256 ${thumbprint}\n`), shown.output);

  const atUrl = await client(`update ${id} --jwks-uri https://app.example/jwks`);
  t.like(atUrl.client, { keys: null, jwks_uri: 'https://app.example/jwks' });
  const removed = await client(`update ${id} --remove-keys`);
  t.like(removed, { client: { keys: null, jwks_uri: null }, notes: [] });
  const both = await client(`update ${await given.register()} --jwks ${file}`);
  t.deepEqual(both.notes, [
    'Servers accept the keys where their option clients.privateKeyJwt is true.',
    'Its secrets are accepted too: delete them with `gatehouse client secrets delete` when the app uses its keys.',
  ]);

  const [leaked, pem] = [`${file}.leaked`, `${file}.pem`];
  writeFileSync(leaked, JSON.stringify({ keys: [privateJwk] }));
  writeFileSync(pem, '-----BEGIN PRIVATE KEY-----\nMIGH');
  for (const [words, message] of [
    [`--jwks ${leaked}`, /^keys\.jwks\.keys\[0\]: it has its private part .+ give the public one only\n$/],
    [
      `--jwks ${pem}`,
      /^--jwks: \S+ is not JSON\. Give a JSON Web Key Set \(RFC 7517\), {"keys": \[\.\.\.\]}\.\n$/,
    ],
    ['--jwks /nowhere', /^--jwks: there is no file \/nowhere\.\n$/],
    ['--jwks /dev/zero', /^--jwks: there is no file \/dev\/zero\.\n$/],
    ['--jwks-uri http://app.example', /^keys\.jwksUri: give an https URL/],
    [`--jwks ${file} --jwks-uri https://app.example`, /cannot be used with option/],
  ] as const) {
    const { code, errors } = await given.run(`client ${service} ${words}`);
    t.is(code, 2);
    t.regex(errors, message);
  }
});
