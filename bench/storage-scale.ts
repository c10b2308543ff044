// What the storage costs as rows grow, on each database. Run by hand, it takes some minutes for each:
//   npx node --conditions=gatehouse:source bench/storage-scale.ts [sqlite] [postgresql] [mariadb] [mariadb-2g]
// The last one is MariaDB with a buffer pool that holds all tables, which the server must permit to set.
import { monitorEventLoopDelay } from 'node:perf_hooks';

import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { enlargeBufferPool } from './buffer-pool.ts';
import { fillDatabase } from './fill-database.ts';
import type { Size } from './fill-database.ts';
import { FUTURE, idOf, PAST, serverDatabase, sqliteDatabase, userOf } from './bench-database.ts';
import type { BenchDatabase } from './bench-database.ts';
import { CLIENT_ID, code, grant, session, successor } from './rows.ts';
import { median } from './statistics.ts';

const SMALL: Size = { grants: 1_000, clients: 1_000 };
const LARGE: Size = { grants: 1_000_000, clients: 100_000 };
const BULK = 100_000;

// An operation is measured on the small and on the large database in turn, so that both see the same noise.
const ROUNDS = 15;
const CALLS = 300;

const POSTGRESQL = process.env['TEST_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const MARIADB = process.env['TEST_MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306';

const MAKERS: Readonly<Record<string, () => Promise<BenchDatabase>>> = {
  sqlite: sqliteDatabase,
  postgresql: async () => serverDatabase('pg', POSTGRESQL),
  mariadb: async () => serverDatabase('mysql2', MARIADB),
  'mariadb-2g': async () => serverDatabase('mysql2', MARIADB),
};

/** The columns of the table, by what was measured. */
const results = new Map<string, Map<string, string>>();

async function remove(database: BenchDatabase): Promise<void> {
  await database.remove();
}

interface Filled extends Size {
  readonly database: BenchDatabase;
  readonly storage: ReturnType<typeof knexStorage>;
}

async function open(database: BenchDatabase, size: Size): Promise<Filled> {
  const storage = knexStorage(database.address, { timeout: '1 minute' });
  await storage.migrate();
  await fillDatabase(database, storage, size);
  return { ...size, database, storage };
}

type Operation = (filled: Filled, count: number) => Promise<unknown>;

const oneOf = (count: number): number => 1 + Math.floor(Math.random() * count);

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'find a client': async ({ clients, storage }) => storage.clients.find(idOf(oneOf(clients))),
  'list 25 apps, from anywhere': async ({ clients, storage }) =>
    storage.clients.list({ after: idOf(oneOf(clients)), limit: 25 }),
  'search apps by the beginning of a word': async ({ clients, storage }) =>
    storage.clients.list({ search: String(oneOf(clients)).padStart(7, '0').slice(0, -1), limit: 25 }),
  'find a session': async ({ grants, storage }) => storage.sessions.find(idOf(oneOf(grants))),
  'extend a session': async ({ grants, storage }, count) =>
    storage.sessions.update({
      id: idOf(oneOf(grants)),
      payload: session('0').payload,
      expiresAt: FUTURE + count,
      lastUsedAt: FUTURE + count,
    }),
  'find a refresh token with its grant': async ({ grants, storage }) =>
    storage.grants.findCredential('refresh_token', idOf(oneOf(grants))),
  'find a grant': async ({ grants, storage }) => storage.grants.find(idOf(oneOf(grants))),
  'check whether a token was revoked': async ({ grants, storage }) =>
    storage.revocations.isValid(tokenOf(oneOf(grants))),
  'start a grant with a code': async ({ storage }, count) =>
    storage.grants.insert(grant(`code ${count}`), code(`code ${count}`)),
  'redeem a refresh token': async ({ grants, storage }, count) => {
    // Spread over all grants; when each token was spent, its successor is.
    const grantId = idOf(1 + ((count * 7919) % grants));
    const generation = Math.floor(count / grants);
    const id = generation === 0 ? grantId : `${grantId} ${generation}`;
    const { outcome } = await storage.grants.redeem(
      { kind: 'refresh_token', id },
      {
        successor: successor(grantId, `${grantId} ${generation + 1}`),
        sealedSuccessor: 'sealed',
      },
    );
    if (outcome !== 'redeemed') throw new Error(`The refresh token ${id} is ${outcome}`);
  },
};

function tokenOf(number: number): Parameters<Storage['revocations']['isValid']>[0] {
  const of = { id: idOf(number), userId: userOf(number) };
  return { id: `jti ${number}`, clientId: CLIENT_ID, grant: of, sequence: 0 };
}

async function measure(name: string, small: Filled, large: Filled): Promise<void> {
  const say = (what: string, value: string): void => {
    const columns = results.get(what) ?? new Map<string, string>();
    results.set(what, columns.set(name, value));
    console.error(`${name}: ${what}: ${value}`);
  };
  say('size of 10⁶', `${((await large.database.size()) / 2 ** 20).toFixed(0)} MiB`);
  for (const [what, operation] of Object.entries(OPERATIONS)) {
    let count = 0;
    const costs: { small: number; large: number }[] = [];
    for (let round = -1; round < ROUNDS; round += 1) {
      const cost = {
        small: await costOf(small, operation, count),
        large: await costOf(large, operation, count),
      };
      count += CALLS;
      // The first round warms caches up.
      if (round >= 0) costs.push(cost);
    }
    const ratio = median(costs.map((cost) => cost.large / cost.small));
    const [before, after] = [
      median(costs.map((cost) => cost.small)),
      median(costs.map((cost) => cost.large)),
    ];
    say(what, `${before.toFixed(0)} -> ${after.toFixed(0)} (${ratio.toFixed(2)} x)`);
  }
  await measureLarge(large, say);
  for (const { storage } of [small, large]) await storage.close();
}

/** The CPU time of a call in microseconds, of this process and of the database server. */
async function costOf(filled: Filled, operation: Operation, from: number): Promise<number> {
  const { cpu } = filled.database;
  const [before, own] = [cpu?.() ?? 0, process.cpuUsage()];
  for (let index = from; index < from + CALLS; index += 1) await operation(filled, index);
  const { system, user } = process.cpuUsage(own);
  return ((cpu?.() ?? 0) - before + system + user) / CALLS;
}

async function measureLarge(
  { database: { addGrants }, storage }: Filled,
  say: (what: string, value: string) => void,
): Promise<void> {
  const id = idOf(LARGE.grants);
  const startedAt = performance.now();
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, async (_, index) =>
      storage.grants.redeem({ kind: 'refresh_token', id }, { successor: successor(id, `parallel ${index}`) }),
    ),
  );
  const winners = outcomes.filter(({ outcome }) => outcome === 'redeemed').length;
  say('100 parallel redemptions', `${winners} winner in ${(performance.now() - startedAt).toFixed(0)} ms`);

  const bulk = {
    clientId: 'bulk',
    from: 2 * LARGE.grants,
    to: 2 * LARGE.grants + BULK - 1,
    expiresAt: FUTURE,
  };
  await addGrants(bulk);
  say(
    `end a client with ${BULK} grants`,
    await watch(async () => {
      await storage.revocations.revokeAllOf({ clientId: 'bulk' });
      return BULK;
    }),
  );
  say(
    `remove a client with ${BULK} grants`,
    await watch(async () => {
      await storage.clients.delete('bulk');
      return BULK;
    }),
  );
  const expired = {
    clientId: CLIENT_ID,
    from: 3 * LARGE.grants,
    to: 3 * LARGE.grants + BULK - 1,
    expiresAt: PAST,
  };
  await addGrants(expired);
  say(
    `prune ${2 * BULK} rows`,
    await watch(async () => {
      let removed = 0;
      for (let now = -1; now !== 0; removed += now) now = await storage.prune(PAST + 1, 10_000);
      return removed;
    }),
  );
}

/** How many rows a second, and for how long nothing else on this thread got through. */
async function watch(call: () => Promise<number>): Promise<string> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const startedAt = performance.now();
  const rows = await call();
  const seconds = (performance.now() - startedAt) / 1000;
  delays.disable();
  return `${Math.round(rows / seconds)} rows/s, others waited ${Math.round(delays.max / 1e6)} ms at most`;
}

function printTable(): void {
  const names = [...new Set([...results.values()].flatMap((columns) => Array.from(columns.keys())))];
  console.log(`| CPU µs, 10³ -> 10⁶ rows | ${names.join(' | ')} |`);
  console.log(`|---|${names.map(() => '--:').join('|')}|`);
  for (const [what, columns] of results)
    console.log(`| ${what} | ${names.map((name) => columns.get(name) ?? '').join(' | ')} |`);
}

const asked = process.argv.slice(2);
for (const [name, make] of Object.entries(MAKERS)) {
  if (asked.length > 0 ? !asked.includes(name) : name === 'mariadb-2g') continue;
  await using scope = new AsyncDisposableStack();
  const [small, large] = [scope.adopt(await make(), remove), scope.adopt(await make(), remove)];
  if (name === 'mariadb-2g') await enlargeBufferPool(large.knex, 2 ** 31, scope);
  await measure(name, await open(small, SMALL), await open(large, LARGE));
}
printTable();
