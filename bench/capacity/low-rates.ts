// What a process, PostgreSQL and PgBouncer cost at low rates, and what a pruned row costs: CPU time, which other programs on the
// machine lengthen less than time. Run by hand, it takes some minutes:
//   npx node --conditions=gatehouse:source bench/capacity/low-rates.ts --help
import { globSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPgBouncer } from '../../test/adapters/pgbouncer.ts';
import type { PgBouncer } from '../../test/adapters/pgbouncer.ts';
import { PAST, serverDatabase } from '../bench-database.ts';
import type { BenchDatabase } from '../bench-database.ts';
import { Cookies } from '../client/cookies.ts';
import { OAuthClient } from '../client/oauth-client.ts';
import { CONTESTANTS } from '../contestants.ts';
import { CLIENT_ID } from '../rows.ts';
import { RunningContestant } from '../running-contestant.ts';

const USAGE = `Usage: node --conditions=gatehouse:source bench/capacity/low-rates.ts [options]

  --rates N[,N...]   requests per second (20,100,300)
  --seconds N        of each measurement (4)
  --runs N           of each measurement; the smallest CPU time counts (4)
  --only TEXT        what has this in its name, such as refresh
  --rows N           expired grants, each with a refresh token (50000)
`;

const POSTGRESQL = process.env['TEST_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';

const { values } = parseArgs({
  options: {
    rates: { type: 'string', default: '20,100,300' },
    seconds: { type: 'string', default: '4' },
    runs: { type: 'string', default: '4' },
    rows: { type: 'string', default: '50000' },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});
const RATES = values.rates.split(',').map(Number);
const SECONDS = Number(values.seconds);
const RUNS = Number(values.runs);

// Of connections to the server, and of users who refresh.
const CONNECTIONS = 8;
const USERS = 100;

const READ_AGAIN = 'guarded request, token read again';

// In seconds: a token is read again when `revocationLag` has passed.
const PAUSE = 6;

/** Microseconds of CPU time: in all, or for each second or each request. */
interface Cost {
  readonly process: number;
  readonly database: number;
  readonly pooler: number;
  readonly statements: number;
}

/** The processes that a server uses, and the requests that are sent to it. */
interface Measured {
  readonly server: RunningContestant;
  readonly database: BenchDatabase;
  readonly pooler: PgBouncer | undefined;
}

/** @param rate - of the requests, per second; `undefined`: without pause */
type Operation = (rate: number | undefined) => Promise<unknown>;

if (values.help) process.stdout.write(USAGE);
else await measureAll();

async function measureAll(): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const database = await serverDatabase('pg', POSTGRESQL);
  scope.defer(async () => database.remove());
  await measureServer(database, undefined);
  const pooler = await startPgBouncer(database.address, ['default_pool_size = 10']);
  try {
    await measureServer(database, pooler);
  } finally {
    await pooler.remove();
  }
  await measurePruning(database);
}

async function measureServer(database: BenchDatabase, pooler: PgBouncer | undefined): Promise<void> {
  const job = { fromSources: true, database: pooler?.address ?? database.address } as const;
  await using server = await RunningContestant.start(CONTESTANTS['gatehouse-postgresql'], job);
  await using client = new OAuthClient(server.listening, { connections: CONNECTIONS });
  const measured = { server, database, pooler };
  const token = await client.clientCredentials();
  const tokens: string[] = [];
  for (let count = 0; count < PAUSE * Math.max(...RATES); count += 1)
    tokens.push(await client.clientCredentials());
  const refreshTokens: string[] = [];
  for (let user = 0; user < USERS; user += 1) {
    const code = await client.authorize(new Cookies(), `user-${user}-${pooler ? 'pooled' : 'direct'}`);
    refreshTokens.push((await client.exchange(code)).refresh_token);
  }
  let turn = 0;
  const operations: Readonly<Record<string, Operation>> = {
    'guarded request, cached token': async () => client.schools(token),
    async [READ_AGAIN](rate) {
      // Of so many tokens in turn that each was last used a pause ago.
      turn = (turn + 1) % (rate === undefined ? tokens.length : rate * PAUSE);
      return client.schools(tokens[turn]!);
    },
    'client credentials': async () => client.clientCredentials(),
    async refresh() {
      // On a busy machine every user may be refreshing.
      while (refreshTokens.length === 0) await delay(1);
      refreshTokens.push((await client.refresh(refreshTokens.shift()!)).refresh_token);
    },
  };
  const suffix = pooler ? ', through PgBouncer' : '';
  // Compiles what is used often, as in a process that has run for long.
  for (const operation of Object.values(operations)) await saturate(measured, operation, 2000);

  const idle = await smallest(async () => costOf(measured, async () => delay(SECONDS * 1000)));
  report(`no requests, each second${suffix}`, divide(idle, SECONDS));
  for (const [name, operation] of Object.entries(operations)) {
    // The others send PgBouncer next to nothing.
    if (pooler && name !== READ_AGAIN && name !== 'refresh') continue;
    if (!name.includes(values.only)) continue;
    for (const rate of RATES) {
      const cost = await smallest(async () => costOf(measured, async () => pace(rate, operation)));
      report(`${name}, ${rate}/s${suffix}`, divide(cost, rate * SECONDS));
    }
    const requests = name === READ_AGAIN ? tokens.length : 3000;
    const full = await smallest(async () => {
      if (name === READ_AGAIN) await delay(PAUSE * 1000);
      return saturate(measured, operation, requests);
    });
    report(`${name}, without pause${suffix}`, divide(full, requests));
  }
}

/** Sends requests at random times, without waiting for the responses. */
async function pace(rate: number, operation: Operation): Promise<void> {
  const pending: Promise<unknown>[] = [];
  const startedAt = performance.now();
  let at = 0;
  for (let count = 0; count < rate * SECONDS; count += 1) {
    at += (-Math.log(1 - Math.random()) / rate) * 1000;
    const pause = startedAt + at - performance.now();
    if (pause > 0) await delay(pause);
    pending.push(operation(rate));
  }
  await Promise.all(pending);
}

/** Sends requests, on each connection the next one after the response. */
async function saturate(measured: Measured, operation: Operation, requests: number): Promise<Cost> {
  let count = 0;
  return costOf(measured, async () => {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (; count < requests; count += 1) await operation(undefined);
      }),
    );
  });
}

async function costOf({ server, database, pooler }: Measured, work: () => Promise<unknown>): Promise<Cost> {
  const [before, { cpu, statements }] = [await backendsOf(database), await server.usage()];
  const poolerBefore = pooler ? cpuOf(pooler.id) : 0;
  await work();
  const [after, usage] = [await backendsOf(database), await server.usage()];
  return {
    process: usage.cpu - cpu,
    statements: usage.statements - statements,
    database: [...after].reduce((sum, [id, time]) => sum + time - (before.get(id) ?? 0), 0),
    pooler: (pooler ? cpuOf(pooler.id) : 0) - poolerBefore,
  };
}

/** The CPU time of the server's processes that have a connection to the database, except ours. */
async function backendsOf({ knex }: BenchDatabase): Promise<ReadonlyMap<number, number>> {
  const ids: number[] = await knex('pg_stat_activity')
    .whereRaw('datname = current_database() and pid <> pg_backend_pid()')
    .pluck('pid');
  return new Map(ids.map((id) => [id, cpuOf(id)]));
}

/** In microseconds, from Linux's /proc, which counts it in nanoseconds. */
function cpuOf(id: number): number {
  return globSync(`/proc/${id}/task/*/schedstat`).reduce(
    (sum, file) => sum + Number(readFileSync(file, 'utf8').split(' ')[0]) / 1000,
    0,
  );
}

async function smallest(measure: () => Promise<Cost>): Promise<Cost> {
  const costs: Cost[] = [];
  for (let run = 0; run < RUNS; run += 1) costs.push(await measure());
  return costs.toSorted((one, other) => total(one) - total(other))[0]!;
}

function total({ process: own, database, pooler }: Cost): number {
  return own + database + pooler;
}

function divide(cost: Cost, by: number): Cost {
  return {
    process: cost.process / by,
    database: cost.database / by,
    pooler: cost.pooler / by,
    statements: cost.statements / by,
  };
}

/** Prints a row of a table: the microseconds of the process, of PostgreSQL and of PgBouncer, and the statements. */
function report(what: string, { process: own, database, pooler, statements }: Cost): void {
  const cells = [own.toFixed(0), database.toFixed(0), pooler.toFixed(0), statements.toFixed(2)];
  process.stdout.write(`| ${[what, ...cells].join(' | ')} |\n`);
}

/** Of each row, with the part of VACUUM that frees its place. */
async function measurePruning(database: BenchDatabase): Promise<void> {
  const rows = 2 * Number(values.rows);
  const storage = knexStorage(database.address);
  const range = { from: 1, to: rows / 2, clientId: CLIENT_ID, expiresAt: PAST };
  await database.addGrants(range);
  const [before, own] = [await backendsOf(database), process.cpuUsage()];
  for (let removed = 0; removed < rows;) removed += await storage.prune(PAST + 1, 10_000);
  const { user, system } = process.cpuUsage(own);
  const deleted = [...(await backendsOf(database))].reduce(
    (sum, [id, time]) => sum + time - (before.get(id) ?? 0),
    0,
  );
  await storage.close();
  const {
    rows: [{ id }],
  } = (await database.knex.raw('select pg_backend_pid() as id')) as { rows: [{ id: number }] };
  const vacuumed = cpuOf(id);
  await database.knex.raw('vacuum (index_cleanup on) gatehouse_grants, gatehouse_credentials');
  report(
    `a pruned row`,
    divide({ process: user + system, database: deleted, pooler: 0, statements: 0 }, rows),
  );
  report(
    `a pruned row, vacuum`,
    divide({ process: 0, database: cpuOf(id) - vacuumed, pooler: 0, statements: 0 }, rows),
  );
}
