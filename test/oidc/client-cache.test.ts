import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';

test('an invalid client id is not looked up in the storage', async (t) => {
  const asked: unknown[] = [];
  const memory = memoryStorage();
  const storage = around(memory, async (call, run) => {
    if (call.startsWith('clients.find')) asked.push(call);
    return run();
  });
  await using platform = await startPlatform({ storage });
  const { Client } = platform.auth.provider;
  for (const id of [undefined, '', 5]) t.is(await Client.find(id as string), undefined);
  t.deepEqual(asked, []);
});

test('the client of the engine is cached until the client is changed', async (t) => {
  await using platform = await startPlatform();
  const { client } = await platform.registerApp();
  const { Client } = platform.auth.provider;
  const built = await Client.find(client.id);
  t.is(built!.clientName, 'Reports');
  t.is(await Client.find(client.id), built);
  await platform.auth.clients.update(client.id, { name: 'Timetable' });
  t.is((await Client.find(client.id))!.clientName, 'Timetable');
  await platform.auth.clients.disable(client.id);
  t.is(await Client.find(client.id), undefined);
});
