import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Client, Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { openStorage } from '../../adapters/host-knex.ts';
import { passTime } from '../../harness/clock.ts';
import { loopbackNetwork, servePublic } from '../../harness/public-server.ts';
import { until } from '../../harness/until.ts';
import { confirm, receiver, signOut, startNode } from '../../openid/told-apps.ts';
import type { Answer } from '../../openid/told-apps.ts';
import { endWith } from '../../harness/serve.ts';

const REGISTERED: Partial<Client> = { source: 'dynamic' };

/** Apps on the internet, of which those below `/slow` are given another answer. */
async function start(t: ExecutionContext, storage: Storage, slow: Answer) {
  const { listener, ...apps } = receiver((path, response, count) =>
    (path.startsWith('/slow') ? slow : confirm)(path, response, count),
  );
  const server = endWith(t, await servePublic(listener));
  const node = startNode(t, storage, loopbackNetwork());
  return {
    ...apps,
    node,
    /** Signs a user out of apps, each on a host of its own, and tells them. */
    async signOut(userId: string, paths: readonly string[], session: string, fields: Partial<Client> = {}) {
      for (const path of paths) {
        const origin = server.at(`${path.replaceAll('/', '')}.apps.example`);
        await signOut(storage, { origin }, [path], `${userId} ${session} ${path}`, { fields, userId });
      }
      node.trigger();
    },
    /** The same with apps of one host. */
    async signOutOfHost(userId: string, paths: readonly string[], session: string, fields: Partial<Client>) {
      await signOut(storage, { origin: server.origin }, paths, `${userId} ${session}`, { fields, userId });
      node.trigger();
    },
    /** In milliseconds, until an app has been told so often. */
    async told(path: string, count: number): Promise<number> {
      const startedAt = performance.now();
      await until(() => apps.tokensOf(path).length >= count, 2);
      return performance.now() - startedAt;
    },
  };
}

const pathsOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `/slow${index}`);

/** Answers with an error after a time, in milliseconds, and counts the requests that wait for it. */
function refusing(status: number, after: number): { readonly answer: Answer; readonly most: () => number } {
  let [open, most] = [0, 0];
  const answer: Answer = (_path, response) => {
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      response.writeHead(status).end();
    }, after).unref();
  };
  return { answer, most: () => most };
}

async function isToldAtOnce(t: ExecutionContext, storage: Storage): Promise<void> {
  const slow = refusing(500, 1200);
  const apps = await start(t, storage, slow.answer);
  const strangers = pathsOf(130);
  await apps.signOut('mallory', strangers, 'first', REGISTERED);
  for (const session of ['second', 'third'])
    await apps.signOut('mallory', strangers.slice(0, 40), session, REGISTERED);
  await until(() => apps.received.length >= 8);
  for (const [path, fields] of [
    ['/platform', {}],
    ['/owned', { ownerId: 'dora' }],
    ['/registered', REGISTERED],
  ] as const) {
    await apps.signOut('ann', [path], 'first', fields);
    const took = await apps.told(path, 1);
    t.log(`${path}: ${Math.round(took)} ms`);
    t.true(took < 1000, `${path}: ${took} ms`);
  }
  // At the retries too.
  await until(() => apps.node.outcomes.filter(({ error }) => error !== undefined).length >= 16, 5);
  passTime(60);
  await apps.signOut('ann', ['/platform', '/registered'], 'second');
  for (const path of ['/platform', '/registered']) t.true((await apps.told(path, 2)) < 1000, path);
  t.is(slow.most(), 8, 'those of one user');
  await apps.node.stop();
}

test.serial('memory: slow apps of a stranger delay no app of others', async (t) =>
  isToldAtOnce(t, memoryStorage()),
);
onEachDatabaseInSeries('slow apps of a stranger delay no app of others', async (t, _database, address) =>
  isToldAtOnce(t, await openStorage(t, address)),
);

test.serial('apps of many strangers leave half of the places to those of the platform', async (t) => {
  const storage = memoryStorage();
  const released = Promise.withResolvers<void>();
  const apps = await start(t, storage, async (...given) => released.promise.then(() => confirm(...given)));
  for (let user = 0; user < 10; user += 1) {
    const paths = pathsOf(10).map((path) => `${path}of${user}`);
    await apps.signOut(`m${user}`, paths, 'first', REGISTERED);
  }
  await until(() => apps.received.length === 64);
  await apps.signOut('ann', ['/platform'], 'first');
  t.true((await apps.told('/platform', 1)) < 1000);
  t.is(apps.received.length, 65);
  // The rest follows.
  released.resolve();
  await until(() => new Set(apps.received.map(({ path }) => path)).size === 101, 50);
  await apps.node.stop();
});

test.serial(
  'a host gets a few requests at once, and few that it does not confirm, for apps that registered themselves',
  async (t) => {
    const storage = memoryStorage();
    const slow = refusing(404, 20);
    const apps = await start(t, storage, slow.answer);
    const failed = () => apps.received.filter(({ path }) => path.startsWith('/slow')).length;
    const users = Array.from({ length: 8 }, (_, index) => `m${index}`);
    for (const user of users) await apps.signOutOfHost(user, pathsOf(30), 'first', REGISTERED);
    await until(() => failed() >= 60);
    t.is(slow.most(), 4);
    // Others are told meanwhile, at other hosts and, when the platform answers for them, at this one.
    await apps.signOut('ann', ['/elsewhere'], 'first', REGISTERED);
    await apps.signOutOfHost('ann', ['/here'], 'first', {});
    for (const path of ['/elsewhere', '/here']) await apps.told(path, 1);
    t.true(failed() <= 63, `${failed()}`);
    const before = failed();
    passTime(301);
    apps.node.trigger();
    await until(() => failed() > before);
    await apps.node.stop();
  },
);

test.serial('one user leaves the most of what a host may be sent to others', async (t) => {
  const storage = memoryStorage();
  const apps = await start(t, storage, (_path, response) => void response.writeHead(404).end());
  const failed = () => apps.received.filter(({ path }) => path.startsWith('/slow')).length;
  await apps.signOutOfHost('mallory', pathsOf(40), 'first', REGISTERED);
  await until(() => failed() >= 12);
  await apps.signOutOfHost('ann', ['/registered'], 'first', REGISTERED);
  t.true((await apps.told('/registered', 1)) < 1000);
  t.true(failed() <= 15, `${failed()}`);
  // What a host confirms does not count.
  for (let session = 0; session < 70; session += 1)
    await apps.signOutOfHost('ann', ['/registered'], `${session}`, REGISTERED);
  await apps.told('/registered', 71);
  await apps.node.stop();
});
