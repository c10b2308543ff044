import { writeFileSync } from 'node:fs';

import test from 'ava';
import { calculateJwkThumbprint } from 'jose';
import { createAdministration } from 'koa-gatehouse';
import type { Administration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { png } from '../harness/pictures.ts';
import { startPlatform } from '../harness/platform.ts';
import { gatehouse, gatehouseJson, gatehouseProcess } from './gatehouse.ts';
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
  readonly administration: Administration;
  readonly run: (command: string) => Promise<Outcome>;
}

/** A migrated database, with an administration on it and the command. */
async function database(): Promise<Database> {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  const administration = createAdministration({ storage });
  return {
    address,
    administration,
    run: async (command) => gatehouse(command, { DATABASE_URL: address }),
    [Symbol.asyncDispose]: () => administration.close(),
  };
}

async function client(address: string, command: string): Promise<ClientDocument> {
  return gatehouseJson<ClientDocument>(`client ${command}`, { DATABASE_URL: address });
}

test('a client created on the command line gets tokens; its secret is shown once', async (t) => {
  await using given = await database();
  const created = await client(given.address, 'create --name Nightly --grant-type client_credentials');
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
    registration: 'manual',
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
  await using platform = await startPlatform({ storage: knexStorage(given.address) });
  const answer = await platform.token({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: created.client_secret,
  });
  t.is(answer.status, 200);

  const shown = await given.run(`client show ${id} --json`);
  t.false(shown.output.includes(created.client_secret!));
  const { secrets } = JSON.parse(shown.output) as ClientDocument;
  t.deepEqual(Object.keys(secrets[0]!), ['id', 'label', 'hint', 'created_at', 'expires_at', 'last_used_at']);
  t.deepEqual(created.secret, { ...secrets[0]!, last_used_at: null });
  t.like(secrets[0], { label: 'first', hint: created.client_secret!.slice(-4), expires_at: null });
});

test('without --json, the secret is printed below the client', async (t) => {
  await using given = await database();
  const { code, errors, output } = await given.run(
    'client create --name Portal --grant-type authorization_code --owner 5 --first-party --scope schools:read --redirect-uri https://a.example/ --redirect-uri https://b.example/',
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

test('--gate knows the scopes of all APIs, as that of the example exports them', async (t) => {
  await using given = await database();
  const gate = new URL('../../examples/server/gate.ts', import.meta.url).pathname;
  const create = async (...scopes: string[]) =>
    given.run(
      `--gate ${gate} client create --name Agent --grant-type device_code --public ${scopes.map((scope) => `--scope ${scope}`).join(' ')}`,
    );
  const known = await create('profile', 'statistics:read', 'schools:close');
  t.deepEqual([known.code, known.errors], [0, '']);
  t.regex(known.output, /^Scopes {9}profile\n {15}statistics:read\n {15}schools:close\n/m);
  const unknown = await create('statistics:write');
  t.deepEqual([unknown.code, unknown.errors], [2, 'scopes: there is no scope "statistics:write"\n']);
});

test('--gate knows the scopes of OpenID Connect, when it exports the option', async (t) => {
  await using given = await database();
  const gate = temporaryFile('gate.ts');
  const create = async (openid: string) => {
    const file = gate.replace('gate.ts', `${openid === '' ? 'without' : 'with'}-openid.ts`);
    writeFileSync(
      file,
      `import { defineGate } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))};
       export const gate = defineGate({ permissions: {} });
       export const scopes = {};
       ${openid}`,
    );
    return given.run(
      `--gate ${file} client create --name Chat --grant-type authorization_code --redirect-uri https://chat.example/callback --scope openid --scope email --scope groups`,
    );
  };
  const known = await create(
    "export const openid = { scopes: { groups: { description: 'See your groups', claims: ['groups'] } } };",
  );
  t.deepEqual([known.code, known.errors], [0, '']);
  t.regex(known.output, /^Scopes {9}openid\n {15}email\n {15}groups\n/m);
  const unknown = await create('');
  t.is(unknown.code, 2);
  t.regex(unknown.errors, /^scopes: there is no scope "openid"\n/);
});

test('public and native clients have no secret', async (t) => {
  await using given = await database();
  const code = 'create --name App --grant-type authorization_code --redirect-uri';
  const [browser, installed] = await Promise.all([
    client(given.address, `${code} https://app.example/ --public`),
    client(given.address, `${code} com.example.app:/callback --native`),
  ]);
  t.like(browser, { client_secret: null, secret: null, client: { confidential: false, native: false } });
  t.like(installed, { client_secret: null, client: { confidential: false, native: true } });
});

test('a client for devices is created with and without a secret, and shown', async (t) => {
  await using given = await database();
  const create = "create --name 'School CLI' --grant-type device_code";
  const open = await client(given.address, `${create} --public`);
  t.like(open, { client_secret: null, client: { grant_type: 'device_code', confidential: false } });
  const { client_secret: secret } = await client(given.address, create);
  t.regex(String(secret), /^gatehouse_secret_/);
  const { output } = await given.run(`client show ${open.client.client_id}`);
  t.regex(output, /\nGrant type {5}device_code\nKind {11}public\n/);
  t.regex(output, /\nConsent {8}asked each time\n/);
});

test('secrets are added, listed, deleted and rotated', async (t) => {
  await using given = await database();
  const { clients } = given.administration;
  const made = await clients.create({ name: 'Nightly', grantType: 'client_credentials' });
  const { id } = made.client;
  const [first] = await clients.secrets(id);

  const added = await client(given.address, `secrets add ${id} --label May --expires 2099-05-31`);
  t.regex(added.client_secret!, /^gatehouse_secret_/);
  t.like(added.secret, {
    label: 'May',
    hint: added.client_secret!.slice(-4),
    expires_at: '2099-05-31T00:00:00.000Z',
  });

  const listed = await given.run(`client secrets ${id}`);
  t.regex(listed.output, /^Secret ID +Label  Ends in  Created \(UTC\) +Expires \(UTC\) +Last used \(UTC\)\n/);
  t.regex(listed.output, /\bMay +\S{4} +\d{4}-\d\d-\d\d \d\d:\d\d  2099-05-31 00:00  never\n/);

  await client(given.address, `secrets delete ${id} ${first!.id} --yes`);
  t.like(await clients.secrets(id), [{ label: 'May' }]);

  const overlapping = await client(given.address, `rotate-secret ${id} --overlap 3600 --label June`);
  const ends = new Map((await clients.secrets(id)).map(({ expiresAt, label }) => [label, expiresAt]));
  t.is(ends.get('June'), undefined);
  t.true(ends.get('May')! <= Date.now() / 1000 + 3600);
  t.like(overlapping.secret, { label: 'June' });

  const rotated = await client(given.address, `rotate-secret ${id} --yes`);
  t.like(await clients.secrets(id), [{ hint: rotated.client_secret!.slice(-4) }]);
  t.is((await clients.secrets(id)).length, 1);
});

test('a secret printed as text gets tokens', async (t) => {
  await using given = await database();
  await using platform = await startPlatform({ storage: knexStorage(given.address) });
  const register = async (): Promise<string> => {
    const fields = { name: 'Nightly', grantType: 'client_credentials' } as const;
    return (await given.administration.clients.create(fields)).client.id;
  };
  for (const words of [
    `secrets add ${await register()}`,
    `rotate-secret ${await register()} --yes`,
    'create --name Hourly --grant-type client_credentials',
  ]) {
    const { output } = await given.run(`client ${words}`);
    const [, id] = /^Client ID +(\S+)$/m.exec(output) ?? [];
    const [, secret] = /^Client secret +(\S+)$/m.exec(output) ?? [];
    const fields = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
    t.is((await platform.token(fields)).status, 200, output);
  }
});

test('update changes only the given fields', async (t) => {
  await using given = await database();
  const made = await given.administration.clients.create({
    name: 'Portal',
    grantType: 'authorization_code',
    redirectUris: ['https://a.example/'],
    ownerId: '5',
    scopes: ['schools:read'],
  });
  const { id } = made.client;
  const first = await client(given.address, `update ${id} --name Gate --redirect-uri https://b.example/`);
  t.like(first.client, {
    name: 'Gate',
    redirect_uris: ['https://b.example/'],
    owner_id: '5',
    scopes: ['schools:read'],
  });
  const second = await client(given.address, `update ${id} --no-owner --all-scopes --first-party`);
  t.like(second.client, { name: 'Gate', owner_id: null, scopes: null, first_party: true });
  const nothing = await given.run(`client update ${id}`);
  t.is(nothing.code, 2);
  t.is(nothing.errors, 'Give a field to change; `gatehouse client update --help` lists the options.\n');
});

test('a client gets a homepage, a logo and the mark of a verified one', async (t) => {
  await using given = await database();
  const redirect = '--grant-type authorization_code --redirect-uri https://a.example/';
  const homepage = '--client-uri https://a.example --verified';
  const made = await client(given.address, `create --name Portal ${redirect} ${homepage}`);
  t.like(made.client, { client_uri: 'https://a.example', logo: null, verified: true });
  const { client_id: id } = made.client;
  const file = temporaryFile();
  writeFileSync(file, png());
  const withLogo = await client(given.address, `logo ${id} ${file}`);
  t.regex(String(withLogo.client['logo']), /^[\w-]{43}$/);
  t.false(withLogo.client['verified']);
  t.deepEqual(withLogo.notes, [`Users see it after \`gatehouse client update ${id} --verified\`.`]);
  t.like((await client(given.address, `update ${id} --verified`)).client, { verified: true });
  const { output } = await given.run(`client show ${id}`);
  t.regex(output, /\nName +Portal\nHomepage +https:\/\/a\.example\nLogo +SHA-256 [\w-]{43}\nVerified +yes\n/);
  const renamed = await client(given.address, `update ${id} --name Gate --verified --no-client-uri`);
  t.like(renamed.client, { name: 'Gate', client_uri: null, verified: true });
  t.like((await client(given.address, `update ${id} --no-verified`)).client, { verified: false });
  t.like((await client(given.address, `logo ${id} --remove`)).client, { logo: null });

  writeFileSync(file, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  for (const [more, code, message] of [
    [file, 2, /logo: give a PNG or JPEG picture of at most 1024 pixels in width and height/],
    [`${file}-none`, 2, /^There is no file .*-none\.\n$/],
    ['', 2, /^Give a file, or --remove\.\n$/],
    [`${file} --remove`, 2, /^Give a file, or --remove\.\n$/],
  ] as const) {
    const words = `client logo ${id} ${more}`;
    const refused = await given.run(words);
    t.is(refused.code, code, refused.errors);
    t.regex(refused.errors, message);
  }
});

test('lifetimes are set, changed one at a time and removed', async (t) => {
  await using given = await database();
  const service = '--name Nightly --grant-type client_credentials';
  const made = await client(given.address, `create ${service} --access-token-lifetime '15 minutes'`);
  t.like(made.client['lifetimes'], { access_token: 900, refresh_token: null });
  const app = await given.administration.clients.create({
    name: 'Gate',
    grantType: 'authorization_code',
    redirectUris: ['https://a.example/'],
    lifetimes: { accessToken: '15 minutes', refreshToken: '1 hour' },
  });
  const update = `update ${app.client.id}`;
  const both = '--refresh-token-lifetime 1day --refresh-token-absolute-lifetime 864000';
  const changed = await client(given.address, `${update} ${both}`);
  t.deepEqual(changed.client['lifetimes'], {
    access_token: 900,
    refresh_token: 86_400,
    refresh_token_absolute: 864_000,
  });
  const shown = await given.run(`client show ${app.client.id}`);
  t.regex(
    shown.output,
    /\nLifetimes +access token 900 s\n +refresh token 86400 s\n +an authorization 864000 s\n/,
  );
  const reset = await client(given.address, `${update} --server-lifetimes --access-token-lifetime '1 h'`);
  t.deepEqual(reset.client['lifetimes'], {
    access_token: 3600,
    refresh_token: null,
    refresh_token_absolute: null,
  });
  await client(given.address, `${update} --server-lifetimes`);
  t.deepEqual((await given.administration.clients.find(app.client.id))?.lifetimes, {});

  const soon = await given.run(`client ${update} --access-token-lifetime soon`);
  t.is(soon.code, 2);
  t.regex(soon.errors, /'soon' is invalid\. Give seconds, or a number and a unit such as '15 minutes'/);
  const gate = temporaryFile('gate.ts');
  writeFileSync(
    gate,
    `import { defineGate } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))};
     export const gate = defineGate({ permissions: {} });
     export const lifetimes = 'short';`,
  );
  const tooLong = await given.run(`--gate ${gate} client ${update} --access-token-lifetime '1 day'`);
  t.is(tooLong.code, 2);
  t.regex(tooLong.errors, /^lifetimes\.accessToken: at most 3600 s, which is the server's own/);
});

test('permissions are added and removed, and checked with --gate', async (t) => {
  await using given = await database();
  const { id } = (
    await given.administration.clients.create({ name: 'Nightly', grantType: 'client_credentials' })
  ).client;
  const gate = temporaryFile('gate.ts');
  writeFileSync(
    gate,
    `import { defineGate } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))};
     export const gate = defineGate({
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
  const { id } = (
    await given.administration.clients.create({ name: 'Nightly', grantType: 'client_credentials' })
  ).client;
  const permissions = ['edit_schools', 'view_grades', 'view_schools', 'view_users'];
  const outcomes = await Promise.all(
    permissions.map(async (permission) =>
      gatehouseProcess(`client permissions ${id} --add ${permission}`, { DATABASE_URL: given.address }),
    ),
  );
  t.deepEqual(
    outcomes.map(({ code }) => code),
    [0, 0, 0, 0],
  );
  const nightly = await given.administration.clients.find(id);
  t.deepEqual(nightly?.permissions.toSorted(), permissions);
});

test('clients are listed by name, a page at a time', async (t) => {
  await using given = await database();
  for (const name of ['Zebra', '学校 🏫', 'alpha', 'Portal']) {
    await given.administration.clients.create({ name, grantType: 'client_credentials' });
  }
  const [first, last] = await given.administration.clients.list({ limit: 2 });
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
  const found = await gatehouseJson('client list --search PORT', { DATABASE_URL: given.address });
  t.like(found, { clients: [{ name: 'Portal' }], next: null });
});

test('a client is disabled, enabled and deleted; what cannot be undone needs --yes', async (t) => {
  await using given = await database();
  const { clients } = given.administration;
  const { id } = (await clients.create({ name: 'Nightly', grantType: 'client_credentials' })).client;
  const disabled = await given.run(`client disable ${id}`);
  t.is(disabled.output, `"Nightly" (${id}) is disabled. Running servers apply it within seconds.\n`);
  t.like(await clients.find(id), { disabled: true, disabledBy: undefined });
  t.like(await client(given.address, `enable ${id}`), { client: { disabled: false, disabled_by: null } });

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
  t.deepEqual(await gatehouseJson(`client delete ${id} --yes`, { DATABASE_URL: given.address }), {
    deleted: id,
  });
  t.is(await clients.find(id), undefined);
});

test('changes on the command line are audit events', async (t) => {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  const { client: made } = await client(address, 'create --name Nightly --grant-type client_credentials');
  await client(address, `disable ${made.client_id}`);
  const records = await storage.audit.list({ clientId: made.client_id });
  t.deepEqual(records.map(({ type }) => type).toSorted(), [
    'client_created',
    'client_disabled',
    'secret_added',
  ]);
  await storage.close();
});

test('an unknown client is an error that says where to look', async (t) => {
  await using given = await database();
  for (const words of ['show x', 'secrets x', 'delete x --yes']) {
    const { code, errors, output } = await given.run(`client ${words}`);
    t.deepEqual([code, output], [1, '']);
    t.is(errors, 'There is no client x.\n`gatehouse client list` lists the clients.\n');
  }
});

test('invalid options are errors before the database is opened', async (t) => {
  for (const [words, said] of [
    ['client create --grant-type client_credentials', /required option '--name <name>' not specified/],
    [
      'client create --name A --grant-type password',
      /Allowed choices are authorization_code, client_credentials, device_code\./,
    ],
    ['client list --limit 0', /Give a number from 1 to 200\./],
    ['client list --limit many', /Give a number from 1 to 200\./],
    [
      'client secrets add x --expires tomorrow',
      /Give a date such as 2027-05-31, or a time such as 2027-05-31T12:00Z\./,
    ],
    ['client secrets add x --expires 2020-01-01', /Give a time in the future\./],
    ['client rotate-secret x --overlap -1', /Give seconds, or a number and a unit/],
    ["keys rotate --after '1 moon'", /Give seconds, or a number and a unit/],
  ] as const) {
    const { code, errors } = await gatehouse(words, { DATABASE_URL: 'postgres://127.0.0.1:1/x' });
    t.is(code, 2, errors);
    t.regex(errors, said);
  }
});

test('a client is registered with keys from a file or at a URL, and loses them', async (t) => {
  await using given = await database();
  const { privateJwk, publicJwk } = await makeKeyPair('key-1');
  const file = `${temporaryFile()}.json`;
  writeFileSync(file, JSON.stringify({ keys: [publicJwk] }));
  const service = 'create --name Nightly --grant-type client_credentials';
  const created = await client(given.address, `${service} --jwks ${file}`);
  const thumbprint = await calculateJwkThumbprint(publicJwk);
  t.like(created, { client_secret: null, secret: null });
  t.deepEqual(created.client['keys'], [{ kid: 'key-1', kind: 'P-256', alg: null, thumbprint }]);
  t.deepEqual(created.notes, ['Servers accept the keys where their option clients.keys is true.']);
  const { client_id: id } = created.client;
  const env = { DATABASE_URL: given.address };
  const shown = await gatehouse(`client show ${id}`, env);
  t.regex(shown.output, new RegExp(`\\nKeys +P-256, kid key-1, SHA-256 ${thumbprint}\\n`));

  const atUrl = await client(given.address, `update ${id} --jwks-uri https://app.example/jwks`);
  t.like(atUrl.client, { keys: null, jwks_uri: 'https://app.example/jwks' });
  const removed = await client(given.address, `update ${id} --remove-keys`);
  t.like(removed, { client: { keys: null, jwks_uri: null }, notes: [] });

  const { client: plain } = await client(given.address, service);
  const both = await client(given.address, `update ${plain.client_id} --jwks ${file}`);
  t.deepEqual(both.notes, [
    'Servers accept the keys where their option clients.keys is true.',
    'Its secrets are accepted too: delete them with `gatehouse client secrets delete` when the app uses its keys.',
  ]);

  writeFileSync(file, JSON.stringify({ keys: [privateJwk] }));
  const leaked = await gatehouse(`client ${service} --jwks ${file}`, env);
  t.is(leaked.code, 2);
  t.regex(leaked.errors, /^keys\.jwks\.keys\[0\]: it has its private part .+ give the public one only\n$/);
  writeFileSync(file, '-----BEGIN PRIVATE KEY-----\nMIGH');
  const pem = await gatehouse(`client ${service} --jwks ${file}`, env);
  t.deepEqual(
    [pem.code, pem.errors],
    [2, `--jwks: ${file} is not JSON. Give a JSON Web Key Set (RFC 7517), {"keys": [...]}.\n`],
  );
  for (const [words, message] of [
    ['--jwks /nowhere', '--jwks: there is no file /nowhere.\n'],
    ['--jwks /dev/zero', '--jwks: there is no file /dev/zero.\n'],
    ['--jwks-uri http://app.example', /^keys\.jwksUri: give an https URL/],
    [`--jwks ${file} --jwks-uri https://app.example`, /cannot be used with option/],
  ] as const) {
    const refused = await gatehouse(`client ${service} ${words}`, env);
    t.is(refused.code, 2);
    if (typeof message === 'string') t.is(refused.errors, message);
    else t.regex(refused.errors, message);
  }
});
