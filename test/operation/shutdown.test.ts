import test from '../harness/test.ts';
import { StorageError, defineAction } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { around, pausable } from '../harness/storage.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { clientToken, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { HOST } from './host.ts';
import type { Middleware } from 'koa';

async function serviceToken(platform: Platform): Promise<string> {
  return clientToken(platform, await platform.registerService(['view_schools']));
}

/** A storage that fails after close(), as a pool does, and lists its calls. */
function closable(): { storage: Storage; calls: string[] } {
  const calls: string[] = [];
  let isClosed = false;
  const storage = around(memoryStorage(), async (name, call) => {
    calls.push(name);
    if (isClosed) throw new StorageError('the pool is closed');
    if (name === 'close') isClosed = true;
    return call();
  });
  return { storage, calls };
}

/** An app with a guarded route. */
const GUARDED: Mounting = {
  behind: ({ auth }) => [
    auth.guard(),
    (ctx) => {
      ctx.body = { caller: ctx.state['client'].name };
    },
  ],
};

test('a running refresh is answered with a valid refresh token, and then the storage is closed', async (t) => {
  const closableStorage = closable();
  const { storage, pause } = pausable(closableStorage.storage);
  await using platform = await startPlatform({ storage });
  const app = await platform.registerApp();
  const { body } = await runCodeFlow(platform, app);

  const redeeming = pause('grants.redeem');
  const answer = exchangeRefreshToken(platform, app, body.refresh_token);
  await redeeming.reached;
  const closing = platform.auth.close();
  t.is(platform.auth.close({ timeout: 5 }), closing);
  t.false(closableStorage.calls.includes('close'));

  redeeming.resume();
  const { status, headers } = await answer;
  t.is(status, 200);
  t.is(headers.get('connection'), 'close');
  await closing;
  t.is(closableStorage.calls.at(-1), 'close');
  t.false(platform.logger.lines.some(({ level }) => level === 'warn' || level === 'error'));
});

test('close() waits for every running request, also of a server that was without one before', async (t) => {
  const closableStorage = closable();
  const { storage, pause } = pausable(closableStorage.storage);
  await using platform = await startPlatform({ storage });
  const app = await platform.registerApp();
  const [one, other] = [await runCodeFlow(platform, app), await runCodeFlow(platform, app)];

  const refreshes = [];
  for (const { body } of [one, other]) {
    const redeeming = pause('grants.redeem');
    const answer = exchangeRefreshToken(platform, app, body.refresh_token);
    await redeeming.reached;
    refreshes.push({ answer, resume: redeeming.resume });
  }
  const closing = platform.auth.close();
  for (const { answer, resume } of refreshes) {
    // What a close() that did not wait would have done by then.
    t.is((await platform.api('/identity')).status, 503);
    t.false(closableStorage.calls.includes('close'));
    resume();
    t.is((await answer).status, 200);
  }
  await closing;
  t.is(closableStorage.calls.at(-1), 'close');
});

test('close() waits until a response is sent, whatever middleware of the host does before', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slowHost: Middleware = async (ctx, next) => {
    await next();
    if (ctx.path !== '/oauth/token') return;
    reached.resolve();
    await released.promise;
  };
  await using platform = await startPlatform({ storage }, { before: [slowHost] });
  const service = await platform.registerService();
  const finding = pause('clients.find');
  const answer = requestClientToken(platform, service);
  await finding.reached;
  let isClosed = false;
  const closing = platform.auth.close().finally(() => {
    isClosed = true;
  });
  finding.resume();
  await reached.promise;
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  t.false(isClosed);
  released.resolve();
  t.is((await answer).status, 200);
  await closing;
});

test('later requests are 503 with Retry-After, but for keys, metadata and routes of the host', async (t) => {
  await using platform = await startPlatform({}, HOST);
  const app = await platform.registerApp();
  const token = await serviceToken(platform);
  t.is((await platform.api('/schools', token)).status, 200);
  await platform.auth.close();
  for (const path of ['/oauth/jwks', '/.well-known/oauth-authorization-server'])
    t.is((await send(platform.url(path))).status, 200, path);
  for (const path of ['/', '/oauth/own', '/elsewhere'])
    t.is((await send(platform.url(path))).text, 'the host’s', path);

  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
    const answer = await send(platform.url(path), { method: 'POST', body: new URLSearchParams({ a: 'b' }) });
    t.is(answer.status, 503, path);
    t.deepEqual(answer.body, {
      error: 'temporarily_unavailable',
      error_description: 'the server is stopping; send the request again',
    });
    t.is(answer.headers.get('cache-control'), 'no-store');
    assertRefused(answer.headers, path);
  }
  for (const path of ['/oauth/login', '/oauth/logout', '/oauth/interaction/x', '/account/apps']) {
    const page = await send(platform.url(path));
    t.is(page.status, 503, path);
    t.regex(page.text, /temporarily_unavailable/, path);
    assertRefused(page.headers, path);
  }
  t.is((await send(authorizeUrl(platform, app))).status, 503);
  for (const path of ['/api/v1/identity', '/api/v1/schools', '/api/v1/actions']) {
    const answer = await send(platform.url(path), { headers: { authorization: `Bearer ${token}` } });
    t.is(answer.status, 503, path);
    t.is(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8', path);
    t.like(answer.body, {
      status: 503,
      code: 'temporarily_unavailable',
      detail: 'The server is stopping. Send the request again.',
    });
    assertRefused(answer.headers, path);
  }

  function assertRefused(headers: Headers, path: string): void {
    t.is(headers.get('retry-after'), '1', path);
    t.is(headers.get('connection'), 'close', path);
  }
});

test('the guard on a route of the host answers 503, for cached tokens too', async (t) => {
  await using platform = await startPlatform({}, GUARDED);
  const headers = { authorization: `Bearer ${await serviceToken(platform)}` };
  t.deepEqual((await send(platform.url('/own'), { headers })).body, { caller: 'Nightly' });
  await platform.auth.close();
  for (const given of [headers, {}]) {
    const answer = await send(platform.url('/own'), { headers: given });
    t.is(answer.status, 503);
    t.like(answer.body, { code: 'temporarily_unavailable' });
    t.is(answer.headers.get('retry-after'), '1');
    t.is(answer.headers.get('connection'), 'close');
  }
});

test('close() waits as long as the timeout at most, and logs the number of unfinished requests', async (t) => {
  for (const timeout of [0, 1]) {
    const closableStorage = closable();
    const { storage, pause } = pausable(closableStorage.storage);
    await using platform = await startPlatform({ storage });
    const finding = pause('clients.find');
    const answer = requestClientToken(platform, await platform.registerService());
    await finding.reached;

    const startedAt = performance.now();
    await platform.auth.close({ timeout });
    // Node's timers may be a millisecond early.
    t.true(performance.now() - startedAt > timeout * 1000 - 10);
    t.is(closableStorage.calls.at(-1), 'close');
    const line = platform.logger.lines.find(({ level }) => level === 'warn');
    t.deepEqual(line?.fields, { requests: 1, timeout });

    finding.resume();
    t.is((await answer).status, 503);
  }
});

test('close() writes audit events and last uses that no request waited for', async (t) => {
  const inner = memoryStorage();
  const { storage, pause } = pausable(inner);
  await using platform = await startPlatform({ storage });
  const app = await platform.registerApp();
  const touching = pause('clients.touchSecret');
  const touchingConsent = pause('consents.touch');
  t.is((await runCodeFlow(platform, app)).status, 200);

  let isClosed = false;
  const closing = platform.auth.close().finally(() => {
    isClosed = true;
  });
  await touching.reached;
  touching.resume();
  await touchingConsent.reached;
  t.false(isClosed);
  touchingConsent.resume();
  await closing;

  const [secret] = (await inner.clients.find(app.client.id))?.secrets ?? [];
  t.truthy(secret?.lastUsedAt);
  t.truthy((await inner.consents.find('1', app.client.id))?.lastUsedAt);
  const types = new Set<string>((await inner.audit.list({})).map(({ type }) => type));
  for (const type of ['token_issued', 'consent_given', 'login']) t.true(types.has(type), type);
});

test('close() announces revocations to the other nodes before it closes the storage', async (t) => {
  const order: unknown[] = [];
  const storage: Storage = {
    ...memoryStorage(),
    changes: {
      subscribe: async () => {},
      async publish(changes) {
        // After a close() that does not wait for it, and before the one that does gives up.
        for (let turn = 0; turn < 5 && order.length === 0; turn += 1) await new Promise(setImmediate);
        order.push(changes);
      },
    },
    async close() {
      order.push('closed');
    },
  };
  await using platform = await startPlatform({ storage });
  await platform.auth.revoke({ userId: '1' });
  await platform.auth.close();
  t.deepEqual(order, [[{ userId: '1' }], 'closed']);
});

test('close() stores the response of an idempotent request, even if the caller has disconnected', async (t) => {
  const closableStorage = closable();
  const { storage, pause } = pausable(closableStorage.storage);
  const open = defineAction({
    type: 'school',
    name: 'open-school-action',
    level: 'collection',
    title: 'Open a school',
    permission: 'view_schools',
    input: z.object({}),
    output: z.object({}),
    run: () => ({}),
  });
  await using platform = await startPlatform({ storage }, { api: { actions: [open] } });
  const token = await serviceToken(platform);
  const finishing = pause('idempotency.finish');
  const connection = await RawConnection.open(platform.origin);
  connection.post('/api/v1/actions/school/open-school-action', '{}', {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': 'one',
  });
  await finishing.reached;
  connection.close();
  const closing = platform.auth.close();
  finishing.resume();
  await closing;
  // Audit events are written periodically, before or after the response.
  const expectedCalls = ['idempotency.finish', 'close'];
  t.deepEqual(
    closableStorage.calls.filter((name) => expectedCalls.includes(name)),
    expectedCalls,
  );
  t.true(closableStorage.calls.includes('audit.append'));
  t.is(closableStorage.calls.at(-1), 'close');
});
