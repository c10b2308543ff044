import test from '../../harness/test.ts';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { StorageError } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createPublicPost } from '../../../lib/http/public-post.ts';
import { sidOf } from '../../../lib/features/openid/sid.ts';
import type { LogoutStore } from '../../../lib/features/openid/types.ts';
import { ANSWER_TIMEOUT } from '../../../lib/outbox/delivery-sender.ts';
import { passTime } from '../../harness/clock.ts';
import { until } from '../../harness/until.ts';
import { logoutsOf } from '../../openid/logouts-of.ts';
import {
  confirm,
  HOUR,
  ISSUER,
  KEYS,
  signOut,
  startApps,
  startNode,
  takeDue,
} from '../../openid/told-apps.ts';
import type { Answer } from '../../openid/told-apps.ts';

test.serial(
  'a logout token says who was signed out of which session, and is for one app and two minutes',
  async (t) => {
    const storage = memoryStorage();
    await using apps = await startApps(confirm);
    await signOut(storage, apps, ['/app']);
    startNode(t, storage).trigger();
    await until(() => apps.received.length === 1);
    const [token] = apps.tokensOf('/app');
    const { kid, ...header } = decodeProtectedHeader(token!);
    t.deepEqual([header, kid], [{ alg: 'RS256', typ: 'logout+jwt' }, 'k']);
    const { payload } = await jwtVerify(token!, KEYS.publicKey, {
      issuer: ISSUER,
      audience: '/app',
    });
    const { iat, jti, sid, ...claims } = payload;
    t.true(typeof jti === 'string' && typeof iat === 'number');
    t.is(sid, sidOf('uid of s', '/app'));
    t.deepEqual(claims, {
      iss: ISSUER,
      sub: 'ann',
      aud: '/app',
      exp: iat! + 120,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
  },
);

test.serial(
  'an app that fails is told again, with a new token and longer pauses, until it confirms',
  async (t) => {
    const storage = memoryStorage();
    await using other = await startApps(confirm);
    const answers: Answer[] = [
      (_path, response) => void response.writeHead(500).end('x'.repeat(100_000)),
      (_path, response) => void response.writeHead(302, { location: `${other.origin}/elsewhere` }).end(),
      (_path, response) => void response.destroy(),
      (_path, response) => void response.writeHead(400).end('{"error":"invalid_request"}'),
      confirm,
    ];
    await using apps = await startApps((path, response, count) => answers[count - 1]!(path, response, count));
    await signOut(storage, apps, ['/app']);
    const node = startNode(t, storage);
    node.trigger();
    for (const [index, pause] of [0, 10, 30, 90, 270].entries()) {
      if (pause > 0) {
        passTime(pause - 2);
        t.deepEqual(await takeDue(storage), [], 'not before the pause is over');
        passTime(2);
        node.trigger();
      }
      await until(() => node.outcomes.length === index + 1);
    }
    t.deepEqual(
      node.outcomes.map(({ attempt, error, isLast }) => [attempt, error, isLast]),
      [
        [1, 'status 500', false],
        [2, 'status 302', false],
        [3, 'connection', false],
        [4, 'status 400', false],
        [5, undefined, true],
      ],
    );
    t.is(other.received.length, 0, 'redirects are not followed');
    t.is(new Set(apps.tokensOf('/app').map((token) => decodeJwt(token).jti)).size, 5);
    passTime(24 * HOUR);
    t.deepEqual(await takeDue(storage), []);
    t.deepEqual(node.events, []);
  },
);

test.serial('after a day an app is not told any more, which is an event and a line in the log', async (t) => {
  const storage = memoryStorage();
  await using apps = await startApps((_path, response) => void response.writeHead(503).end());
  await signOut(storage, apps, ['/app']);
  const node = startNode(t, storage);
  node.trigger();
  for (let attempt = 1; node.events.length === 0; attempt += 1) {
    await until(() => node.outcomes.length === attempt);
    passTime(3 * HOUR);
    node.trigger();
  }
  t.true(node.outcomes.length >= 8 && node.outcomes.length <= 12, `${node.outcomes.length} attempts`);
  t.deepEqual(node.events, [
    { type: 'logout_undelivered', clientId: '/app', userId: 'ann', error: 'status 503' },
  ]);
  t.true(node.outcomes.at(-1)!.isLast);
  t.deepEqual(
    node.logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message),
    ['logout not delivered'],
  );
  await node.stop();
  const { dueAt, error } = (await logoutsOf(storage).findLatest('/app'))!;
  t.deepEqual([dueAt, error], [undefined, 'status 503']);
});

test.serial('what a node has begun and not ended is sent by another one, after its lease', async (t) => {
  const storage = memoryStorage();
  await using apps = await startApps(confirm);
  await signOut(storage, apps, ['/app']);
  t.is((await takeDue(storage)).length, 1, 'a node takes it, and dies');
  const node = startNode(t, storage);
  passTime(13);
  node.trigger();
  t.deepEqual(await takeDue(storage), []);
  passTime(2);
  node.trigger();
  await until(() => apps.received.length === 1);
  await node.stop();
  t.is((await logoutsOf(storage).findLatest('/app'))?.attempts, 1);
});

test.serial(
  'an end that could not be read is read again after ten seconds, and not only when its lease has ended',
  async (t) => {
    const storage = memoryStorage();
    await using apps = await startApps(confirm);
    await signOut(storage, apps, ['/app']);
    let reads = 0;
    const logouts: LogoutStore = {
      ...logoutsOf(storage),
      async add(ends) {
        reads += 1;
        if (reads === 1) throw new StorageError('the database is away');
        return logoutsOf(storage).add(ends);
      },
    };
    const node = startNode(t, { ...storage, store: () => logouts as never });
    node.trigger();
    await until(() => node.logger.lines.some(({ message }) => message === 'ends not read'));
    passTime(8);
    t.deepEqual(await takeDue(storage), []);
    passTime(2);
    node.trigger();
    await until(() => apps.received.length === 1);
    t.is(reads, 2);
  },
);

test.serial(
  'what was taken and is not known to last is no attempt: the pauses begin with the first one',
  async (t) => {
    const storage = memoryStorage();
    await using apps = await startApps((_path, response) => void response.writeHead(500).end());
    await signOut(storage, apps, ['/app']);
    let isConfirmed = false;
    let taken = 0;
    const logouts: LogoutStore = {
      ...logoutsOf(storage),
      // As without the synchronous standby: the row is changed.
      async take(...given) {
        const found = await logoutsOf(storage).take(...given);
        taken += found.length;
        if (!isConfirmed) throw new StorageError('it is not known whether the change lasts');
        return found;
      },
    };
    const node = startNode(t, { ...storage, store: () => logouts as never });
    for (let lease = 1; lease <= 6; lease += 1) {
      node.trigger();
      await until(() => taken === lease);
      passTime(15);
    }
    isConfirmed = true;
    node.trigger();
    await until(() => node.outcomes.length === 1);
    passTime(8);
    t.deepEqual(await takeDue(storage), []);
    passTime(2);
    node.trigger();
    await until(() => node.outcomes.length === 2);
    t.deepEqual(
      node.outcomes.map(({ attempt }) => attempt),
      [1, 2],
    );
  },
);

test.serial(
  'an app with many users that does not answer has two places, and one without a URI is not told',
  async (t) => {
    const storage = memoryStorage();
    await using apps = await startApps((path, response) => {
      if (path !== '/slow') response.writeHead(200).end();
    });
    for (let session = 0; session < 200; session += 1) await signOut(storage, apps, ['/slow'], `${session}`);
    await signOut(storage, apps, ['/gone', '/app'], 'last');
    const { client } = (await storage.clients.find('/gone'))!;
    await storage.clients.update({ ...client, backchannelLogoutUri: undefined });
    const node = startNode(t, storage);
    node.trigger();
    await until(() => apps.tokensOf('/app').length === 1);
    await until(() => apps.tokensOf('/slow').length === 2);
    await node.stop();
    t.is(apps.tokensOf('/slow').length, 2);
    t.is(apps.tokensOf('/gone').length, 0);
  },
);

test.serial('a URI on loopback is not connected to, except on the machine of a developer', async (t) => {
  await using apps = await startApps(confirm);
  const post = createPublicPost({}, ANSWER_TIMEOUT);
  const secure = apps.origin.replace('http:', 'https:');
  await t.throwsAsync(post(apps.origin, {}), { name: 'PublicFetchError', message: /must be an https URL/ });
  await t.throwsAsync(post(secure, {}), { name: 'PublicFetchError', message: /no public address/ });
  t.is(apps.received.length, 0);
});

test.serial('many apps that do not answer delay no other one again', async (t) => {
  const storage = memoryStorage();
  await using apps = await startApps((path, response) => {
    if (path === '/app') confirm(path, response, 1);
  });
  const node = startNode(t, storage);
  const silent = Array.from({ length: 100 }, (_, index) => `/silent/${index}`);
  await signOut(storage, apps, silent, 'first');
  node.trigger();
  await until(() => node.outcomes.length === silent.length);
  const before = apps.received.length;
  // More than a node tells at once, and all of them before the one that answers.
  await signOut(storage, apps, silent, 'second');
  await signOut(storage, apps, silent, 'third');
  await signOut(storage, apps, ['/app'], 'fourth');
  node.trigger();
  await until(() => apps.tokensOf('/app').length === 1);
  t.true(apps.received.length - before <= 33, `${apps.received.length - before}`);
  await until(() => apps.received.length - before > 33);
});
