// What a database with a synchronous standby says of a change is tested with the storage; here what the server asks it, besides ends (`test/ends`).
import test from '../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { unconfirmed } from '../ends/way.ts';
import { recordingLogger, startPlatform } from '../harness/platform.ts';
import { requestClientToken } from '../harness/tokens.ts';

test('a server signs only with a key that is known to last', async (t) => {
  const { state, storage } = unconfirmed(memoryStorage());
  const administration = createAdministration({ storage, logger: recordingLogger() });
  const { client, secret } = await administration.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
  });
  const service = { client, secret: secret!.value };
  state.isLost = true;
  // Fails when it adds its first keys, which are there for the next one.
  for (const use of ['token', 'cookie'] as const) {
    await t.throwsAsync(startPlatform({ storage }), { code: 'ERR_STORAGE' });
    t.is((await storage.keys.list(use)).length, 1);
  }
  await using platform = await startPlatform({ storage });
  const { body, headers, status } = await requestClientToken(platform, service);
  t.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
  t.not(headers.get('retry-after'), null);
  await t.throwsAsync(platform.auth.issueToken({ clientId: client.id }), { code: 'ERR_STORAGE' });

  state.isLost = false;
  t.is((await requestClientToken(platform, service)).status, 200);
  state.isLost = true;
  t.is((await requestClientToken(platform, service)).status, 200, 'it is not asked for again');
});

test('a client that was imported is present when it is known to last', async (t) => {
  const { state, storage } = unconfirmed(memoryStorage());
  const administration = createAdministration({ storage, logger: recordingLogger() });
  const imported = {
    id: '7',
    name: 'Timetable',
    grantType: 'authorization_code',
    redirectUris: ['https://timetable.example/callback'],
  } as const;
  state.isLost = true;
  for (const time of ['first', 'second', 'third'])
    await t.throwsAsync(administration.importClient(imported), { code: 'ERR_STORAGE' }, time);
  state.isLost = false;
  t.is(await administration.importClient(imported), 'present');
});
