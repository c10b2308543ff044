import { decodeJwt } from 'jose';

import { onEachDatabase } from '../../adapters/databases.ts';
import { openStorage } from '../../adapters/host-knex.ts';
import { until } from '../../harness/until.ts';
import type { LogoutOutcome } from '../../../lib/features/openid/types.ts';
import { logoutsOf } from '../../openid/logouts-of.ts';
import { signOut, startApps, startNode } from '../../openid/told-apps.ts';

onEachDatabase(
  'a thousand apps are told by two nodes within five seconds, each once, while fifty do not answer',
  async (t, _database, address) => {
    const storage = await openStorage(t, address);
    await using apps = await startApps((path, response) => {
      if (!path.startsWith('/silent')) response.writeHead(204).end();
    });
    const nodes = [startNode(t, storage), startNode(t, storage)];
    const trigger = (): void => {
      for (const node of nodes) node.trigger();
    };
    // As servers do, for what is sent again.
    const timer = setInterval(trigger, 1000);
    t.teardown(() => clearInterval(timer));
    /** In milliseconds, until the apps that answer have been told. */
    async function tell(paths: readonly string[]): Promise<number> {
      await signOut(storage, apps, paths, paths[0]);
      // On a machine that has other things to do, an app that answers late is told again: it receives more than counts here.
      const [before, toldBefore] = [apps.received.length, told().length];
      const answering = paths.filter((path) => !path.startsWith('/silent')).length;
      const startedAt = performance.now();
      trigger();
      await until(() => told().length >= toldBefore + answering);
      return Math.max(...apps.received.slice(before).map(({ at }) => at)) - startedAt;
    }
    const told = (): readonly LogoutOutcome[] =>
      nodes.flatMap(({ outcomes }) => outcomes.filter(({ error }) => error === undefined));

    const alone = await tell(Array.from({ length: 950 }, (_, index) => `/first/${index}`));
    const took = await tell(
      Array.from({ length: 1000 }, (_, index) => (index % 20 === 0 ? `/silent/${index}` : `/then/${index}`)),
    );
    t.log(`${Math.round(took)} ms, and ${Math.round(alone)} ms when all answer`);
    // On a machine that has other things to do, all takes longer, and one measurement more than the other.
    t.true(took < Math.max(5000, 3 * alone), `${took} ms, and ${alone} ms when all answer`);
    t.is(told().length, 2 * 950);
    t.is(new Set(apps.received.map(({ token }) => decodeJwt(token).jti)).size, apps.received.length);
    await Promise.all(nodes.map(async ({ stop }) => stop()));
    const late = nodes.flatMap(({ outcomes }) => outcomes).filter(({ error }) => error === 'timeout');
    // On such a machine, some that answer are late too, and told again.
    const repeated = apps.received.length - new Set(apps.received.map(({ path }) => path)).size;
    t.is(late.length, 50 + repeated);
    t.is((await logoutsOf(storage).findLatest('/then/1'))?.dueAt, undefined);
    t.is((await logoutsOf(storage).findLatest('/silent/0'))?.error, 'timeout');
  },
);
