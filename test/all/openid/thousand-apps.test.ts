import type { ServerResponse } from 'node:http';

import { decodeJwt } from 'jose';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { openStorage } from '../../adapters/host-knex.ts';
import { stopClock } from '../../harness/clock.ts';
import { until } from '../../harness/until.ts';
import type { LogoutOutcome } from '../../../lib/features/openid/types.ts';
import { logoutsOf } from '../../openid/logouts-of.ts';
import { signOut, startApps, startNode } from '../../openid/told-apps.ts';

const APPS = 1000;
const SILENT = 50;

onEachDatabaseInSeries(
  'a thousand apps are told by two nodes, each once, and none waits for the fifty that do not answer',
  async (t, _database, address) => {
    // However slow the machine is, no lease ends and no answer is late: the order shows that nothing waits, and no time does.
    using _stopped = stopClock();
    const network = { loopback: true, timeout: 600_000 };
    const storage = await openStorage(t, address);
    const unanswered: ServerResponse[] = [];
    await using apps = await startApps((path, response) => {
      if (path.startsWith('/silent')) unanswered.push(response);
      else response.writeHead(204).end();
    });
    const nodes = [startNode(t, storage, network), startNode(t, storage, network)];
    const outcomesOf = (): readonly LogoutOutcome[] => nodes.flatMap(({ outcomes }) => outcomes);
    const told = (): number => outcomesOf().length;
    // The silent ones are due first.
    const paths = Array.from({ length: APPS }, (_, index) =>
      index < SILENT ? `/silent/${index}` : `/answers/${index}`,
    );
    await signOut(storage, apps, paths);

    const startedAt = performance.now();
    for (const { trigger } of nodes) trigger();
    await until(() => told() === APPS - SILENT && unanswered.length === SILENT);
    t.log(`${Math.round(performance.now() - startedAt)} ms`);
    for (const response of unanswered) response.writeHead(204).end();
    await until(() => told() === APPS);

    await Promise.all(nodes.map(async ({ stop }) => stop()));
    t.deepEqual(
      outcomesOf().filter(({ error }) => error !== undefined),
      [],
    );
    t.deepEqual(apps.received.map(({ path }) => path).toSorted(), paths.toSorted());
    t.is(new Set(apps.received.map(({ token }) => decodeJwt(token).jti)).size, APPS);
    for (const path of ['/silent/0', '/answers/999'])
      t.is((await logoutsOf(storage).findLatest(path))?.dueAt, undefined);
  },
);
