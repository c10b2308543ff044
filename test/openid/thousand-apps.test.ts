import { decodeJwt } from 'jose';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { until } from '../harness/until.ts';
import { signOut, startApps, startNode } from './told-apps.ts';

onEachDatabase(
  'a thousand apps are told by two nodes within five seconds, each once, while fifty do not answer',
  async (t, _database, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();
    await using apps = await startApps((path, response) => {
      if (Number(path.slice(1)) % 20 !== 0) response.writeHead(204).end();
    });
    await signOut(
      storage,
      apps,
      Array.from({ length: 1000 }, (_, index) => `/${index}`),
    );
    const nodes = [startNode(t, storage), startNode(t, storage)];
    const startedAt = performance.now();
    for (const node of nodes) node.wake();
    await until(() => nodes.flatMap(({ outcomes }) => outcomes).length >= 950);
    const told = nodes.flatMap(({ outcomes }) => outcomes.filter(({ error }) => error === undefined));
    const took = Math.max(...apps.received.map(({ at }) => at)) - startedAt;
    t.log(
      `${told.length} told after ${Math.round(took)} ms, ${nodes.map(({ outcomes }) => outcomes.length).join(' + ')}`,
    );
    t.true(took < 5000);
    t.is(told.length, 950);
    t.is(new Set(apps.received.map(({ path }) => path)).size, apps.received.length);
    t.is(new Set(apps.received.map(({ token }) => decodeJwt(token).jti)).size, apps.received.length);
    await Promise.all(nodes.map(async ({ stop }) => stop()));
    const late = nodes.flatMap(({ outcomes }) => outcomes).filter(({ error }) => error === 'timeout');
    t.is(late.length, 50);
    t.is((await storage.logouts.findLatest({ clientId: '/1' }))?.dueAt, undefined);
    t.is((await storage.logouts.findLatest({ clientId: '/0' }))?.error, 'timeout');
  },
);
