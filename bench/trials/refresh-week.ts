/**
 * Ten sessions of an agent share one credential for seven days: they refresh at once, lose responses, send requests late and store
 * tokens late, and the nodes that answer are killed. Checked at each step: no session needs a new login, there is one authorization,
 * and it has one unspent refresh token. The same week with a minute of grace has to fail.
 *
 *     npm run trial -- refresh-week.ts --seed 1
 *
 * Time passes by moving what is stored into the past, so that the clock of each database is used as it is. The agent logs in and
 * refreshes with the clients of the MCP SDK 2 and 1, which is that of mcp-remote and of the Inspector too. When a session refreshes is decided here, because programs that use the SDK have clocks of
 * their own. As in those, a session reads what is stored before it refreshes, and after a lost response or a late write a session
 * refreshes within the hour, which is what the server promises. The seed repeats these decisions, not the races between requests.
 */
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { refreshAuthorization } from '@modelcontextprotocol/client';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { createOwnDatabase } from '../../test/adapters/own-database.ts';
import { findServer, MARIADB, POSTGRESQL } from '../../test/adapters/servers.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { installAgents } from './agents-install.ts';
import { Nodes, startNode } from './nodes.ts';
import { Week } from './refresh-sessions.ts';
import type { Refresh } from './refresh-sessions.ts';
import { report } from './report.ts';
import type { Finding } from './report.ts';
import { temporaryFolder } from './servers.ts';

// In seconds.
const GRACES = { hour: 3600, minute: 60 } as const;

/** A database of the week. */
interface Database extends AsyncDisposable {
  readonly name: string;
  readonly address: string;
  readonly client: string;
}

async function* databases(): AsyncGenerator<Database> {
  const folder = temporaryFolder();
  const address = `sqlite:${folder.path}/week.db`;
  yield {
    name: 'SQLite',
    address,
    client: 'better-sqlite3',
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
  for (const kind of [POSTGRESQL, MARIADB]) {
    const server = await findServer(kind);
    if ('remedy' in server) {
      console.warn(`SKIPPED, ${kind.name}: ${server.remedy}`);
      continue;
    }
    const own = await createOwnDatabase(kind, server.address);
    yield {
      name: kind.name,
      address: own.address,
      client: kind.client,
      [Symbol.asyncDispose]: async () => own.drop(),
    };
  }
}

async function runWeek(
  { address, client }: Database,
  { days, grace, seed }: { days: number; grace: number; seed: number },
): Promise<Week> {
  const connection = client === 'better-sqlite3' ? { filename: address.slice('sqlite:'.length) } : address;
  const host = knex({ client, connection, useNullAsDefault: true, pool: { min: 0, max: 1 } });
  const storage = knexStorage(address);
  const issuer = `http://127.0.0.1:${await freePort()}`;
  await using nodes = new Nodes(issuer, async () =>
    startNode(address, issuer, { program: 'refresh-week-node.ts', given: [`${grace}`] }),
  );
  try {
    await storage.migrate();
    await host('gatehouse_credentials').delete();
    await host('gatehouse_grants').delete();
    await nodes.begin();
    const week = new Week(nodes, host, generations, seed);
    await week.run(days);
    return week;
  } finally {
    await storage.close();
    await host.destroy();
  }
}

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, days: { type: 'string', default: '7' } },
});
const folder = temporaryFolder();
process.on('exit', () => folder[Symbol.dispose]());
const agents = await installAgents(folder.path);
const first = agents.file('node_modules/@modelcontextprotocol/sdk/dist/esm/client/auth.js');
const generations = [
  refreshAuthorization,
  ((await import(pathToFileURL(first).href)) as { refreshAuthorization: Refresh }).refreshAuthorization,
];
const settings = { seed: Number(values.seed), days: Number(values.days) };
const findings: Finding[] = [];
for await (const database of databases()) {
  await using open = database;
  const { broken, refreshes } = await runWeek(open, { ...settings, grace: GRACES.hour });
  findings.push({ what: `${open.name}, an hour of grace`, count: refreshes, broken });
  const without = await runWeek(open, { ...settings, grace: GRACES.minute });
  findings.push({
    what: `${open.name}, a minute of grace`,
    count: without.refreshes,
    broken: without.logins > 1 ? [] : ['no session needed a new login: the week shows nothing'],
    note: `${without.logins - 1} new logins`,
  });
}
process.exitCode = report(findings);
