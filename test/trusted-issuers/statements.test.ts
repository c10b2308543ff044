import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { countedKnex } from '../adapters/counted-knex.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { idJag, JOB, jobToken, present, presentJob, startTrusted } from './identity-provider.ts';

// Those of a transaction are one on MariaDB, and on the others its begin and its commit count.
const FIRST = { pg: 7, mysql2: 3, 'better-sqlite3': 7 } as const;

// On PostgreSQL, one more makes sure that the use which was found lasts.
const REPEATED = { pg: 4, mysql2: 3, 'better-sqlite3': 3 } as const;

const OF_JOBS = /gatehouse_audit|from gatehouse_keys|set last_used_at|@@global.read_only/;

onEachDatabase('an assertion sends few SQL statements', async (t, { client }, address) => {
  let seen: string[] = [];
  const host = countedKnex(client, address, (sql) => seen.push(sql));
  t.teardown(async () => host.destroy());
  const storage = knexStorage(host);
  const rules = [{ client: 'job', match: { sub: JOB } }];
  await using platform = await startTrusted({ ci: { rules } }, { storage, migrate: true });
  const { auth } = platform;
  const app = await platform.registerApp();
  await storage.clients.insert({ ...(await platform.registerService()).client, id: 'job' }, []);
  // Both clients are known then.
  await present(platform, app, await idJag(platform, app, { sub: 'bob' }));
  await presentJob(platform, await jobToken(platform));

  const counted = async (run: () => Promise<{ readonly status: number }>): Promise<number> => {
    await auth.audit.flush();
    seen = [];
    t.is((await run()).status, 200);
    return seen.filter((sql) => !OF_JOBS.test(sql)).length;
  };
  const assertion = await idJag(platform, app);
  t.is(await counted(async () => present(platform, app, assertion)), FIRST[client], 'the first of a user');
  t.is(await counted(async () => present(platform, app, assertion)), REPEATED[client], 'repeated');
  const another = await idJag(platform, app);
  t.is(await counted(async () => present(platform, app, another)), 2, 'of a known grant');
  const job = await jobToken(platform);
  t.is(await counted(async () => presentJob(platform, job)), 1, 'of a workload');
});
