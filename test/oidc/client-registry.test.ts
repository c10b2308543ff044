import test from '../harness/test.ts';
import { StorageError } from 'koa-gatehouse';
import type { AuditRecord } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase } from '../adapters/databases.ts';
import { completeClient } from '../harness/client.ts';
import { like } from '../harness/like.ts';
import { jpeg, png } from '../harness/pictures.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { shared } from '../harness/shared.ts';
import type { ClientQuery } from '../../lib/contracts/clients.ts';
import { ClientInvalidError } from '../../lib/errors.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const { clients } = platform.auth;
  return { platform, clients };
});

const CODE = {
  name: 'Reports',
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;

/** The audit events of a client, oldest first, without ids and times. */
async function recordsOf({ auth }: Platform, clientId: string): Promise<object[]> {
  const records = await auth.audit.list({ clientId });
  return records.toReversed().map((record) => {
    const { id: _id, at: _at, clientId: _clientId, ...rest } = record as AuditRecord & { clientId: string };
    return rest;
  });
}

const NAME = 'give a name of 1 to 100 characters';
const URL_FORM =
  'give an https URL of at most 2000 characters, of ASCII without spaces, and without user name, password and fragment; http is for loopback addresses only';

test('a name is spelt with the joiners of its language, and so are labels', async (t) => {
  const { clients } = await started();
  for (const name of ['نمی\u200Cخواهم', 'क्\u200Dष', 'ශ්\u200Dරී', '👩\u200D💻 Agent', '🇩🇪 Мой VS Code']) {
    const { client } = await clients.create({ ...CODE, name });
    t.is(client.name, name);
    t.is((await clients.addSecret(client.id, { label: name })).label, name);
  }
});

test('all invalid fields are reported in one error', async (t) => {
  const { clients } = await started();
  const { client } = await clients.create(CODE);
  for (const [fields, ...expected] of [
    [{ name: '' }, `name: ${NAME}`],
    [{ name: 'x'.repeat(101) }, `name: ${NAME}`],
    [{ name: 'a\u202Eb' }, 'name: leave out control characters'],
    [{ name: 'a\u200Db' }, 'name: leave out control characters'],
    [{ name: 'نم\u200F' }, 'name: leave out control characters'],
    [{ confidential: 'yes' }, 'confidential: give true or false'],
    [{ verified: 'yes' }, 'verified: give true or false'],
    ...[
      '',
      7,
      'reports.example',
      'http://reports.example',
      'javascript:alert(1)',
      'https://ann:secret@reports.example',
      'https://reports.example/#top',
      'https://reports.example/ü',
      `https://reports.example/${'x'.repeat(2000)}`,
    ].map((uri) => [
      { clientUri: uri, backchannelLogoutUri: uri },
      `clientUri: ${URL_FORM}`,
      `backchannelLogoutUri: ${URL_FORM}`,
    ]),
    [
      { backchannelLogoutUri: 'https://127.0.0.1/logout' },
      'backchannelLogoutUri: give a public address, which this server can connect to',
    ],
    ...['', 'x'.repeat(256), 'a\0b'].map((id) => [{ ownerId: id }, "ownerId: give a user's id"]),
    [{ scopes: ['unheard-of'] }, 'scopes: there is no scope "unheard-of"'],
    [{ scopes: 'schools:read' }, 'scopes: give an array of strings'],
    [{ redirectUris: [] }, 'redirectUris: an authorization code client needs at least one'],
    [
      { redirectUris: Array.from({ length: 101 }, (_, index) => `https://reports.example/${index}`) },
      'redirectUris: at most 100',
    ],
    [{ roles: ['registrar'] }, "roles: for client credentials only; for other clients the user's own apply"],
    [{ disabled: true, secret: 'x' }, 'disabled: there is no such field', 'secret: there is no such field'],
    [
      { name: ' ', firstParty: 1, native: true },
      `name: ${NAME}`,
      'firstParty: give true or false',
      'native: an installed app cannot keep a secret; set confidential to false',
    ],
  ] as [object, ...string[]][]) {
    const refused = { code: 'ERR_CLIENT_INVALID', message: expected.join('; ') };
    await t.throwsAsync(clients.create({ ...CODE, ...fields }), refused);
    await t.throwsAsync(clients.update(client.id, fields), refused);
  }
  t.deepEqual(await clients.find(client.id), client, 'nothing is changed');
  for (const nothing of [undefined, {}, 'x'])
    await t.throwsAsync(clients.create(nothing as never), { code: 'ERR_CLIENT_INVALID' });

  const error = await t.throwsAsync(clients.create({ ...CODE, name: '', scopes: ['unheard-of'] as never }), {
    instanceOf: ClientInvalidError,
  });
  t.deepEqual(error.fields, [
    { field: 'name', code: 'name_length', message: NAME, parameters: { most: 100 } },
    {
      field: 'scopes',
      code: 'unknown_scope',
      message: 'there is no scope "unheard-of"',
      parameters: { name: 'unheard-of' },
    },
  ]);
});

test('a logo is a PNG or JPEG by its content, within its bounds', async (t) => {
  const { clients, platform } = await started();
  const { client } = await clients.create(CODE);
  t.is(client.logoHash, undefined);
  for (const picture of [
    ...['<svg xmlns="http://www.w3.org/2000/svg"/>', 'GIF89a', '\x89PNG\r\n\x1a\n', '\xff\xd8\xff\xe0'].map(
      (text) => Buffer.from(text, 'latin1'),
    ),
    png({ width: 1025 }),
    png({ height: 1025 }),
    png().fill(0, 16, 24),
    jpeg({ height: 1025 }),
    jpeg({ width: 0 }),
    'data:image/png;base64,',
  ]) {
    await t.throwsAsync(clients.setLogo(client.id, picture as never), {
      code: 'ERR_CLIENT_INVALID',
      message: 'logo: give a PNG or JPEG picture of at most 1024 pixels in width and height',
    });
  }
  await t.throwsAsync(clients.setLogo(client.id, Buffer.concat([png(), Buffer.alloc(65_536)])), {
    code: 'ERR_CLIENT_INVALID',
    message: 'logo: give a file of at most 65536 bytes',
  });
  await t.throwsAsync(clients.setLogo('gone', png()), { code: 'ERR_CLIENT_NOT_FOUND' });
  t.deepEqual(await clients.find(client.id), client, 'nothing is changed');
  t.regex((await clients.setLogo(client.id, png())).logoHash!, /^[\w-]{43}$/);
  t.is((await clients.setLogo(client.id, undefined)).logoHash, undefined);
  like(t, (await recordsOf(platform, client.id)).at(-1), { type: 'client_updated', fields: ['logoHash'] });
});

test('a change of what users see takes the mark of a verified client away, unless it sets it again', async (t) => {
  const { clients, platform } = await started();
  const homepage = { clientUri: 'https://reports.example' };
  const { client } = await clients.create({ ...CODE, ...homepage, verified: true });
  t.true(client.verified);
  const verify = async () => clients.update(client.id, { verified: true });
  await clients.setLogo(client.id, png());
  for (const change of [
    async () => clients.update(client.id, { name: 'Report' }),
    async () => clients.update(client.id, { clientUri: 'http://localhost:8080' }),
    async () => clients.update(client.id, { clientUri: undefined }),
    async () => clients.update(client.id, () => ({ redirectUris: ['https://report.example/callback'] })),
    async () => clients.setLogo(client.id, jpeg()),
    async () => clients.setLogo(client.id, undefined),
    async () => clients.update(client.id, { verified: false }),
  ]) {
    t.true((await verify()).verified);
    t.false((await change()).verified);
    const [last] = await platform.auth.audit.list({ clientId: client.id, limit: 1 });
    t.true((last as { fields?: string[] }).fields?.includes('verified'));
  }
  t.true((await clients.update(client.id, { name: 'Reports', verified: true })).verified);
  for (const change of [{ name: ' Reports' }, { scopes: [] }, { ownerId: 'ann' }, { lifetimes: {} }])
    t.true((await clients.update(client.id, change)).verified);
  t.true((await clients.disable(client.id)).verified);
});

test('a client that nobody registered has no homepage, no logo and no mark', async (t) => {
  const storage = memoryStorage();
  await using server = await startPlatform({ storage });
  const { clients: registry } = server.auth;
  const own = completeClient({ id: 'of-itself', name: 'Agent', source: 'dynamic', scopes: [] });
  await storage.clients.insert(own, []);
  for (const field of [{ clientUri: 'https://agent.example' }, { verified: true }])
    await t.throwsAsync(registry.update(own.id, field), {
      message: /: nobody has registered this client, so/,
    });
  await t.throwsAsync(registry.setLogo(own.id, png()), {
    message: /^logo: nobody has registered this client, so/,
  });
  t.deepEqual(await registry.find(own.id), own);
});

test('update() accepts a copy of the client, if only updatable fields differ', async (t) => {
  const { clients } = await started();
  const { client } = await clients.create(CODE);
  await t.throwsAsync(clients.update(client.id, { grantType: 'client_credentials' } as object), {
    code: 'ERR_CLIENT_INVALID',
    message: 'grantType: cannot be changed; register another client',
  });
  const renamed = await clients.update(client.id, { ...client, name: 'New' } as object);
  t.is(renamed.name, 'New');
  await t.throwsAsync(clients.update(client.id, { ...renamed, disabled: true, createdAt: 1n } as object), {
    message: 'disabled: there is no such field; createdAt: there is no such field',
  });
});

test('an unknown client gives ERR_CLIENT_NOT_FOUND', async (t) => {
  const { clients, platform } = await started();
  const missing = { code: 'ERR_CLIENT_NOT_FOUND', message: 'There is no client gone' };
  for (const act of [
    clients.update('gone', { name: 'x' }),
    clients.disable('gone'),
    clients.enable('gone'),
    clients.secrets('gone'),
    clients.addSecret('gone'),
    clients.rotateSecret('gone'),
  ]) {
    await t.throwsAsync(act, missing);
  }
  t.is(await clients.find('gone'), undefined);
  t.false(await clients.delete('gone'));
  t.false(await clients.deleteSecret('gone', 'x'));
  t.deepEqual(await platform.auth.audit.list({ clientId: 'gone' }), []);
});

test('list() has pages of 1 to 200', async (t) => {
  await using own = await startPlatform();
  const { clients: these } = own.auth;
  for (const name of ['Zebra', 'apple', '100%']) await these.create({ ...CODE, name, ownerId: name });
  const names = async (query: ClientQuery): Promise<string[]> =>
    (await these.list(query)).map(({ name }) => name);
  t.deepEqual(await names({ search: 'APP' }), ['apple']);
  t.deepEqual(await names({ ownerId: 'Zebra' }), ['Zebra']);
  const [first] = await these.list({ limit: 1 });
  t.is(first?.name, '100%');
  t.deepEqual(await names({ limit: 1, after: first!.id }), ['apple']);
  for (const limit of [0, 201, 1.5, '10']) {
    await t.throwsAsync(these.list({ limit: limit as number }), {
      code: 'ERR_CLIENT_INVALID',
      message: 'limit: give a number from 1 to 200',
    });
  }
  await t.throwsAsync(these.list({ search: ['x'], after: 7, limit: 0 } as never), {
    message: 'search: give a string; after: give a string; limit: give a number from 1 to 200',
  });
});

onEachDatabase('concurrent updates of one client are all saved', async (t, _database, address) => {
  const storage = knexStorage(address);
  await using own = await startPlatform({ storage });
  const { clients: these } = own.auth;
  const { client } = await these.create({ ...CODE, confidential: false });
  await Promise.all([
    these.update(client.id, { name: 'Renamed' }),
    these.update(client.id, { redirectUris: ['https://reports.example/new'] }),
    these.update(client.id, { firstParty: true }),
    these.update(client.id, { scopes: [] }),
    these.update(client.id, { ownerId: 'ann' }),
    these.disable(client.id),
  ]);
  like(t, await these.find(client.id), {
    name: 'Renamed',
    redirectUris: ['https://reports.example/new'],
    firstParty: true,
    scopes: [],
    ownerId: 'ann',
    disabled: true,
  });
  const updates = await own.auth.audit.list({ clientId: client.id, types: ['client_updated'] });
  const fields = updates.flatMap((update) => ('fields' in update ? update.fields : []));
  t.deepEqual(
    fields.toSorted(),
    ['firstParty', 'name', 'ownerId', 'redirectUris', 'scopes'],
    'each update records what it has changed itself',
  );
});

test('a client that was deleted is recorded once as deleted, although the storage reported an error', async (t) => {
  const storage = around(memoryStorage(), async (name, call) => {
    const result = await call();
    if (name === 'clients.delete') throw new StorageError('The database is unreachable.');
    return result;
  });
  await using own = await startPlatform({ storage });
  const { client } = await own.auth.clients.create(CODE);
  for (let time = 0; time < 2; time += 1) {
    await t.throwsAsync(own.auth.clients.delete(client.id), { code: 'ERR_STORAGE' });
  }
  t.deepEqual((await recordsOf(own, client.id)).slice(2), [{ type: 'client_deleted', name: 'Reports' }]);
});

test('each change is recorded, with the names of the fields and without values; secrets are returned once', async (t) => {
  const { clients, platform } = await started();
  const { client, secret } = await clients.create(CODE);
  const { id } = client;
  const { value: first, ...listed } = secret!;
  t.regex(first, /^gatehouse_secret_[\w-]{43}$/);
  t.deepEqual(await clients.secrets(id), [listed]);
  // What changes nothing is not recorded.
  t.deepEqual(await clients.update(id, { ...CODE }), client);
  await clients.update(id, { name: 'Renamed', scopes: [] });
  t.deepEqual(await clients.disable(id), await clients.disable(id));
  await clients.enable(id);
  const second = await clients.addSecret(id, { label: ' May ' });
  await clients.deleteSecret(id, listed.id);
  await clients.deleteSecret(id, listed.id);
  const { value: third, ...rotated } = await clients.rotateSecret(id);
  t.deepEqual(await clients.secrets(id), [rotated]);
  await clients.delete(id);
  await clients.delete(id);
  const [ofFirst, ofSecond, ofThird] = [
    { secretId: listed.id, label: 'first', hint: first.slice(-4) },
    { secretId: second.id, label: 'May', hint: second.value.slice(-4) },
    { secretId: rotated.id, label: '', hint: third.slice(-4) },
  ];
  t.deepEqual(await recordsOf(platform, id), [
    { type: 'client_created', name: 'Reports' },
    { type: 'secret_added', ...ofFirst },
    { type: 'client_updated', fields: ['name', 'scopes'] },
    { type: 'client_disabled', name: 'Renamed' },
    { type: 'client_enabled', name: 'Renamed' },
    { type: 'secret_added', ...ofSecond },
    { type: 'secret_deleted', ...ofFirst },
    { type: 'secret_added', ...ofThird },
    { type: 'secret_deleted', ...ofSecond },
    { type: 'client_deleted', name: 'Renamed' },
  ]);
  t.is((await clients.create({ ...CODE, confidential: false })).secret, undefined);
});
