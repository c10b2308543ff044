import test from './harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { ImportedClient } from 'koa-gatehouse';

import { temporaryFile } from './adapters/temporary-file.ts';
import { like } from './harness/like.ts';
import { gate, startPlatform } from './harness/platform.ts';
import { around } from './harness/storage.ts';

const SERVICE: ImportedClient = {
  id: '7',
  name: 'Nightly',
  grantType: 'client_credentials',
  secret: { value: 'a secret of another server' },
};

test('an imported client gets tokens with its former id and secret', async (t) => {
  const storage = memoryStorage();
  const operator = createAdministration({ storage });
  t.is(await operator.importClient({ ...SERVICE, createdAt: 1_600_000_000 }), 'imported');
  t.like(await operator.clients.find('7'), { id: '7', createdAt: 1_600_000_000, disabled: false });
  await using platform = await startPlatform({ storage });
  const request = { grant_type: 'client_credentials', client_id: 7 };
  t.is((await platform.token({ ...request, client_secret: 'a secret of another server' })).status, 200);
  t.is((await platform.token({ ...request, client_secret: 'another secret' })).status, 401);
});

test('concurrent imports of one client create it once; a dry run creates none', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  await storage.migrate();
  const operator = createAdministration({ storage });
  t.is(await operator.importClient(SERVICE, { dryRun: true }), 'imported');
  t.is(await operator.clients.find('7'), undefined);
  const outcomes = await Promise.all([1, 2, 3].map(async () => operator.importClient(SERVICE)));
  t.deepEqual(outcomes.toSorted(), ['imported', 'present', 'present']);
  t.is((await operator.clients.secrets('7')).length, 1);
  t.is(await operator.importClient(SERVICE, { dryRun: true }), 'present');
  await operator.close();
});

test('an invalid client is an error that lists each field, in a dry run too', async (t) => {
  const operator = createAdministration({ storage: memoryStorage(), gate });
  const mistakes: [Partial<ImportedClient>, string][] = [
    [{ id: '' }, 'id'],
    [{ id: 'two words' }, 'id'],
    [{ id: 7 as unknown as string }, 'id'],
    [{ id: 'é' }, 'id'],
    [{ name: '' }, 'name'],
    [{ permissions: ['burn_schools'] }, 'permissions'],
    [{ roles: ['janitor'] }, 'roles'],
    [{ secret: { value: '' } }, 'secret'],
    [{ secret: { bcrypt: '$2y$10$tooshort' } }, 'secret'],
    [{ secret: { bcrypt: `$2y$31$${'a'.repeat(53)}` } }, 'secret'],
    [
      { grantType: 'authorization_code', redirectUris: ['https://a.example/'], confidential: false },
      'secret',
    ],
  ];
  for (const [fields, field] of mistakes) {
    // Gates are typed; data from elsewhere is not.
    const client = { ...SERVICE, ...fields } as never;
    const error = await t.throwsAsync(operator.importClient(client, { dryRun: true }));
    like(t, error, { code: 'ERR_CLIENT_INVALID', fields: [{ field }] }, JSON.stringify(fields));
  }
  const wrong = { ...SERVICE, id: '', name: '', roles: null, secret: { value: '' } } as never;
  await t.throwsAsync(operator.importClient(wrong), {
    code: 'ERR_CLIENT_INVALID',
    message: /^id: .*; name: .*; roles: give an array of strings; secret: .*$/,
  });
  t.deepEqual(await operator.clients.list(), []);
});

test('prune() reports its progress, and stops after the current batch', async (t) => {
  let left = 1300;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name !== 'prune') return call();
    const removed = Math.min(left, 500);
    left -= removed;
    return removed;
  });
  const operator = createAdministration({ storage });
  const reported: number[] = [];
  const stop = new AbortController();
  const onProgress = (removed: number): void => {
    reported.push(removed);
    if (reported.length === 2) stop.abort();
  };
  t.is(await operator.prune({ onProgress, signal: stop.signal }), 1000);
  t.deepEqual(reported, [500, 1000]);
  t.is(await operator.prune(), 300);
  t.is(await operator.prune({ signal: AbortSignal.abort() }), 0);
});

test('a server closed during prune() stops after the current batch', async (t) => {
  const begun = Promise.withResolvers<void>();
  const storage = around(memoryStorage(), async (name, call) => {
    if (name !== 'prune') return call();
    begun.resolve();
    // There are always more rows.
    await new Promise(setImmediate);
    return 500;
  });
  const platform = await startPlatform({ storage, retention: { pruneInterval: 1 } });
  await begun.promise;
  await platform[Symbol.asyncDispose]();
  t.pass();
});

test('keys are listed as servers use them', async (t) => {
  const storage = memoryStorage();
  const operator = createAdministration({ storage });
  t.deepEqual(await operator.signingKeys.list(), []);
  const first = await operator.signingKeys.rotate();
  t.is(first.status, 'active');
  const second = await operator.signingKeys.rotate({ after: '1 hour', accessTokenLifetime: '2 hours' });
  t.is(second.status, 'next');
  await using platform = await startPlatform({ storage });
  t.deepEqual(await operator.signingKeys.list(), [...platform.auth.signingKeys.list()]);
  const [, older] = await operator.signingKeys.list();
  t.is(older!.retiresAt, second.activeAt + 7200);
});

test('invalid options are errors that name them', async (t) => {
  const storage = memoryStorage();
  for (const [options, message] of [
    [{}, /^storage: /],
    [{ storage, gate: {} }, /^gate: /],
    [{ storage, secrets: { keyEncryptionKey: 'short' } }, /^secrets.keyEncryptionKey: /],
    [
      { storage, retention: { pruneInterval: 60 } },
      'retention.pruneInterval: leave it out: an administration deletes expired rows only when prune() is called',
    ],
    [{ storage, retention: { audit: 'long' } }, /^retention\.audit: /],
  ] as const)
    t.throws(() => createAdministration(options as never), { code: 'ERR_CONFIG', message });
  const { signingKeys: keys } = createAdministration({ storage });
  for (const [options, message] of [
    [{ after: -1 }, /^signingKeys\.rotate\(\{ after \}\): /],
    [
      { after: 29 },
      /^signingKeys\.rotate\(\{ after \}\): give at least 30 s: .*ended at once by signingKeys\.revoke\(\)/,
    ],
    [{ accessTokenLifetime: '1 aeon' }, /^signingKeys\.rotate\(\{ accessTokenLifetime \}\): /],
    [{ algorithm: 'HS256' }, /^signingKeys\.rotate\(\{ algorithm \}\): /],
  ] as const)
    await t.throwsAsync(keys.rotate(options as never), { code: 'ERR_CONFIG', message });
});
