import { randomUUID } from 'node:crypto';

import test from '../harness/test.ts';
import { hash } from 'bcryptjs';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { basic, postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { startLimited, tally, times } from './platform.ts';
import type { LimitedPlatform } from './platform.ts';

// In the form of a generated secret, and a secret that a person may have chosen.
const WRONG = `gatehouse_secret_${'A'.repeat(43)}`;
const CHOSEN = 'a-secret-that-was-chosen';

const GRANT = { grant_type: 'client_credentials' };

/** Sends a token request from an address. */
async function ask(
  server: LimitedPlatform,
  id: string,
  secret: string,
  address = '192.0.2.1',
): Promise<Answer> {
  const fields = { ...GRANT, client_id: id, client_secret: secret };
  return postForm(server.platform.url('/oauth/token'), fields, { 'x-forwarded-for': address });
}

/** Registers a client whose secret was imported as a bcrypt hash. */
async function importClient(server: LimitedPlatform, storage: Storage): Promise<string> {
  const { client } = await server.platform.registerService();
  for (const { id } of await server.platform.auth.clients.secrets(client.id))
    await storage.clients.deleteSecret(client.id, id);
  const dates = { createdAt: 0, expiresAt: undefined, lastUsedAt: undefined };
  const secret = { id: randomUUID(), hash: await hash(CHOSEN, 4), label: 'imported', hint: '' };
  await storage.clients.addSecret(client.id, { ...secret, ...dates });
  return client.id;
}

// Sets the clock ahead: the tests below it start afterwards.
test.serial('when the window ends, failures are counted from zero', async (t) => {
  const storage = memoryStorage();
  await using server = await startLimited({ storage });
  const id = await importClient(server, storage);
  await times(11, async () => ask(server, id, 'wrong'));
  passTime(4 * 60);
  t.is((await ask(server, id, CHOSEN)).status, 429);
  passTime(60);
  t.is((await ask(server, id, CHOSEN)).status, 200);
});

test('after ten failures the response is 429 with Retry-After', async (t) => {
  await using server = await startLimited();
  const { client } = await server.platform.registerService();
  const begun = performance.now();
  const statuses = await times(12, async () => ask(server, client.id, 'wrong'));
  t.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429]);
  const answer = await ask(server, client.id, 'wrong');
  const seconds = Number(answer.headers.get('retry-after'));
  const passed = (performance.now() - begun) / 1000;
  t.true(seconds >= 298 - passed && seconds <= 300, `${seconds} after ${passed}`);
  t.deepEqual(answer.body, {
    error: 'temporarily_unavailable',
    error_description: `too many attempts to authenticate this client; try again in ${seconds} seconds`,
  });
  t.is(answer.headers.get('cache-control'), 'no-store');
});

test('token, revocation and introspection endpoint share one count, with and without HTTP Basic', async (t) => {
  await using server = await startLimited();
  const { client } = await server.platform.registerService();
  const asked = { client_id: client.id, client_secret: WRONG, token: 'x' };
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  for (const path of ['/oauth/revoke', '/oauth/introspect']) {
    const url = server.platform.url(path);
    t.deepEqual(await times(5, async () => postForm(url, asked, headers)), [401, 401, 401, 401, 401]);
  }
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
    const given = { ...headers, ...basic(client.id, WRONG) };
    const answer = await postForm(server.platform.url(path), { ...GRANT, token: 'x' }, given);
    t.is(answer.status, 429, path);
    t.truthy(answer.headers.get('retry-after'), path);
    t.is(answer.headers.get('www-authenticate'), null, path);
  }
});

test('failures cannot lock a client out: its generated secret works over the limit, also from that address', async (t) => {
  await using server = await startLimited();
  const { client, secret } = await server.platform.registerService();
  await times(150, async (index) => ask(server, index % 2 === 0 ? client.id : randomUUID(), WRONG));
  server.counted.length = 0;
  t.is((await ask(server, client.id, WRONG)).status, 429);
  t.is((await ask(server, client.id, secret, '198.51.100.7')).status, 200);
  t.deepEqual(new Set(await times(5, async () => ask(server, client.id, secret))), new Set([200]));
  t.is((await ask(server, client.id, WRONG)).status, 429);
  t.deepEqual(server.counted, [], 'neither successes nor refused requests are counted');
});

test('over the limit an imported secret is not checked, except from other addresses', async (t) => {
  const storage = memoryStorage();
  await using server = await startLimited({ storage });
  const id = await importClient(server, storage);
  await times(11, async (index) => ask(server, id, `wrong ${index}`));
  t.is((await ask(server, id, CHOSEN)).status, 429);
  t.regex((await storage.clients.find(id))!.secrets[0]!.hash, /^\$2/);
  t.is((await ask(server, id, CHOSEN, '198.51.100.7')).status, 200);
  // The secret is stored as SHA-256 now, but it is still one that a person may have chosen.
  t.is((await ask(server, id, CHOSEN)).status, 429);
});

test('of fifty concurrent wrong secrets ten get 401, the others 429: two nodes share their counts', async (t) => {
  const storage = memoryStorage();
  await using here = await startLimited({ storage });
  await using there = await startLimited({ storage });
  const { client } = await here.platform.registerService();
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) =>
      ask(index % 2 ? here : there, client.id, `wrong ${index}`),
    ),
  );
  t.deepEqual(tally(answers), { 401: 10, 429: 40 });
});

test('the limit per address counts failures of all clients, registered or not', async (t) => {
  await using server = await startLimited({
    limits: { attempts: { clientAuthentication: { perAddress: 12 } } },
  });
  const statuses = await times(14, async () => ask(server, randomUUID(), WRONG));
  t.deepEqual(statuses.slice(10), [401, 401, 429, 429]);
  const { client } = await server.platform.registerService();
  t.is((await ask(server, client.id, 'wrong')).status, 429);
  t.is((await ask(server, client.id, 'wrong', '198.51.100.7')).status, 401);
});

test('when a failure cannot be counted the response is 503; other errors do not count as failures', async (t) => {
  await using server = await startLimited();
  const { client, secret } = await server.platform.registerService();
  server.broken.add('attempts.count');
  const answer = await ask(server, client.id, WRONG);
  t.is(answer.status, 503);
  t.is(answer.body?.['error'], 'temporarily_unavailable');
  t.truthy(answer.headers.get('retry-after'));
  server.counted.length = 0;
  t.is((await ask(server, client.id, secret)).status, 200);
  const url = server.platform.url('/oauth/token');
  const fields = { client_id: client.id, client_secret: secret };
  await postForm(url, { ...fields, grant_type: 'authorization_code' });
  await postForm(url, { ...fields, ...GRANT, scope: 'unknown' });
  await postForm(url, {});
  t.deepEqual(server.counted, []);
});

test('clientAuthentication: false switches the limits off', async (t) => {
  await using server = await startLimited({ limits: { attempts: { clientAuthentication: false } } });
  const { client } = await server.platform.registerService();
  t.deepEqual(new Set(await times(120, async () => ask(server, client.id, 'wrong'))), new Set([401]));
  t.deepEqual(server.counted, []);
});
