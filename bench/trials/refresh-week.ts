/**
 * Ten sessions of four agents that nobody here wrote (the MCP SDK 1 and 2, mcp-remote, the inspector) share the credentials of their
 * programs for seven days: they refresh at once, lose responses, send requests late and store tokens late, and they and the nodes that
 * answer are killed. Checked at each step: no session needs a new login, each program has one authorization, and that has one unspent
 * refresh token. The same week with a minute of grace has to fail.
 *
 *     npm run trial -- refresh-week.ts --seed 1
 *
 * The programs, the nodes and the database servers have one simulated clock, by libfaketime; `--days` and `--database` shorten the
 * trial. After a disturbance a session calls within 20 minutes: an hour is what the server promises. The seed repeats these decisions,
 * not the races between requests.
 */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { freePort } from '../../test/harness/free-port.ts';
import { installAgents } from './agents-install.ts';
import type { InstalledAgents } from './agents-install.ts';
import { Nodes, startNode } from './nodes.ts';
import { startSharing } from './refresh-programs.ts';
import { RefreshProxy } from './refresh-proxy.ts';
import { Week } from './refresh-sessions.ts';
import { report } from './report.ts';
import type { Finding } from './report.ts';
import { temporaryFolder } from './servers.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { simulatedDatabases } from './simulated-databases.ts';
import type { SimulatedDatabase } from './simulated-databases.ts';

// In seconds.
const HOUR = 3600;
const MINUTE = 60;

interface Settings {
  readonly agents: InstalledAgents;
  readonly folder: string;
  readonly days: number;
  readonly seed: number;
}

async function runWeek(
  { address, clock, name }: SimulatedDatabase,
  grace: number,
  { agents, days, folder, seed }: Settings,
): Promise<{ readonly week: Week; readonly refreshes: number }> {
  const { environment } = clock;
  const connection = name === 'SQLite' ? { filename: address.slice('sqlite:'.length) } : address;
  const client = { SQLite: 'better-sqlite3', PostgreSQL: 'pg', MariaDB: 'mysql2' }[name];
  const host = knex({ client, connection, useNullAsDefault: true, pool: { min: 0, max: 1 } });
  const storage = knexStorage(address);
  const issuer = `http://127.0.0.1:${await freePort()}`;
  await using nodes = new Nodes(issuer, async () =>
    startNode(address, issuer, { program: 'refresh-week-node.ts', given: [`${grace}`], environment }),
  );
  const programs = await startSharing({
    agents,
    folder: await mkdtemp(join(folder, 'homes-')),
    endpoint: `${issuer}/mcp`,
    environment,
  });
  try {
    await storage.migrate();
    await host('gatehouse_credentials').delete();
    await host('gatehouse_grants').delete();
    await nodes.begin();
    await using proxy = new RefreshProxy(nodes);
    await proxy.listen();
    const week = new Week({ clock, host, nodes, proxy, programs, seed, endsWithLogin: grace < HOUR });
    await week.run(days);
    return { week, refreshes: proxy.refreshes };
  } finally {
    await Promise.all(programs.flatMap(({ sessions }) => sessions.map(async (session) => session.kill())));
    await storage.close();
    await host.destroy();
  }
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    days: { type: 'string', default: '7' },
    database: { type: 'string' },
  },
});
if (SimulatedClock.whatIsMissing) {
  console.error(`the trial needs libfaketime: ${SimulatedClock.whatIsMissing}`);
  process.exit(1);
}
const folder = temporaryFolder();
process.on('exit', () => folder[Symbol.dispose]());
const settings: Settings = {
  agents: await installAgents(folder.path),
  folder: folder.path,
  days: Number(values.days),
  seed: Number(values.seed),
};
const findings: Finding[] = [];
for await (const database of simulatedDatabases()) {
  await using open = database;
  if (values.database !== undefined && values.database !== open.name) continue;
  const { refreshes, week } = await runWeek(open, HOUR, settings);
  findings.push({
    what: `${open.name}, an hour of grace`,
    count: week.calls,
    broken: week.broken,
    note: `${refreshes} refreshes, ${week.newLogins} new logins; ${week.asked} asked for after a lost response`,
  });
  const { week: without } = await runWeek(open, MINUTE, settings);
  findings.push({
    what: `${open.name}, a minute of grace`,
    count: without.calls,
    broken: without.newLogins > 0 ? [] : ['no session needed a new login: the week shows nothing'],
    note: 'ended by a new login',
  });
}
process.exitCode = report(findings);
