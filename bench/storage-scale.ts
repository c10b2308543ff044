// What the storage costs as rows grow, on each database. Run by hand, it takes some minutes:
//   npx node --conditions=gatehouse:source bench/storage-scale.ts [sqlite] [postgresql] [mariadb]
import { monitorEventLoopDelay } from 'node:perf_hooks';

import type { TokenInQuestion } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { FUTURE, idOf, PAST, serverDatabase, sqliteDatabase, userOf } from './filled-database.ts';
import type { DatabaseCpu } from './database-cpu.ts';
import type { BenchDatabase } from './filled-database.ts';
import { client, successor } from './rows.ts';

const SMALL = 1_000;
const LARGE = 1_000_000;
const BULK = 100_000;

const MAKERS: Readonly<Record<string, () => Promise<BenchDatabase>>> = {
  sqlite: sqliteDatabase,
  postgresql: async () =>
    serverDatabase('pg', process.env['TEST_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'),
  mariadb: async () =>
    serverDatabase('mysql2', process.env['TEST_MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306'),
};

const asked = process.argv.slice(2);
/** The values of what was measured, by database. */
const results: Record<string, Record<string, string>> = {};
for (const [name, make] of Object.entries(MAKERS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const database = await make();
  try {
    for (const [what, value] of Object.entries(await measure(database))) {
      results[what] = { ...results[what], [database.name]: value };
    }
  } finally {
    await database.remove();
  }
}
console.table(results);

async function measure({
  address,
  addRevocations,
  addGrants,
  cpu,
  name,
  size: databaseSize,
}: BenchDatabase): Promise<Record<string, string>> {
  const storage = knexStorage(address, { timeout: '1 minute' });
  const result: Record<string, string> = {};
  const say = (what: string, value: string) => {
    result[what] = value;
    console.log(`${name}: ${what}: ${value}`);
  };
  await storage.migrate();

  let filled = 0;
  for (const size of [SMALL, LARGE]) {
    await addGrants({ from: filled + 1, to: size, clientId: 'timetable', expiresAt: FUTURE });
    await addRevocations({ from: filled + 1, to: size });
    for (let index = filled / 1000; index < size / 1000; index += 1)
      await storage.clients.insert(client(index), []);
    filled = size;
    say(
      `size with ${size} grants, refresh tokens and ends`,
      `${((await databaseSize()) / 2 ** 20).toFixed(0)} MiB`,
    );
    const number = () => 1 + Math.floor(Math.random() * size);
    const at = `, of ${size} grants and ends`;
    say(
      `credentials.find${at}`,
      await time(async () => storage.credentials.find('refresh_token', idOf(number())), cpu),
    );
    say(`grants.find${at}`, await time(async () => storage.grants.find(idOf(number())), cpu));
    const ofUser = (): TokenInQuestion => {
      const one = number();
      const grant = { id: idOf(one), userId: userOf(one) };
      return { id: `jti ${one}`, clientId: 'timetable', grant, sequence: 0 };
    };
    say(`revocations.stands${at}`, await time(async () => storage.revocations.stands(ofUser()), cpu));
    say(
      `clients.find${at}`,
      await time(async () => storage.clients.find(`client ${Math.floor(number() / 1000)}`), cpu),
    );
    let spent = filled === SMALL ? 0 : SMALL;
    say(
      `redeem${at}`,
      await time(
        async () => {
          spent += 1;
          return storage.credentials.redeem(
            { kind: 'refresh_token', id: idOf(spent) },
            {
              at: Date.now(),
              successor: successor(idOf(spent), `${size} ${spent}`),
              sealedSuccessor: 'sealed',
            },
          );
        },
        cpu,
        500,
      ),
    );
  }

  const startedAt = performance.now();
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, async (_, index) =>
      storage.credentials.redeem(
        { kind: 'refresh_token', id: idOf(LARGE) },
        { at: Date.now(), successor: successor(idOf(LARGE), `parallel ${index}`) },
      ),
    ),
  );
  const winners = outcomes.filter(({ outcome }) => outcome === 'redeemed').length;
  say('100 parallel redemptions', `${winners} winner in ${(performance.now() - startedAt).toFixed(0)} ms`);

  const bulk = { clientId: 'bulk', from: 2 * LARGE, to: 2 * LARGE + BULK - 1, expiresAt: FUTURE };
  await addGrants(bulk);
  say(
    `end a client with ${BULK} grants`,
    await watch(async () => {
      await storage.revocations.end({ clientId: 'bulk' });
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
  await addGrants({
    ...bulk,
    clientId: 'timetable',
    from: 3 * LARGE,
    to: 3 * LARGE + BULK - 1,
    expiresAt: PAST,
  });
  say(
    `prune ${2 * BULK} rows`,
    await watch(async () => {
      let removed = 0;
      for (let now = -1; now !== 0; removed += now) now = await storage.prune(PAST + 1, 10_000);
      return removed;
    }),
  );
  await storage.close();
  return result;
}

/** The time of one call, of many in a row, and the CPU time of the database server for it. */
async function time(
  call: () => Promise<unknown>,
  cpu: DatabaseCpu | undefined,
  count = 3000,
): Promise<string> {
  for (let index = 0; index < count / 10; index += 1) await call();
  const before = cpu?.();
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) await call();
  const elapsed = `${(((performance.now() - startedAt) / count) * 1000).toFixed(0)} us`;
  if (cpu === undefined || before === undefined) return elapsed;
  return `${elapsed}, ${((cpu() - before) / count).toFixed(0)} of the database's CPU`;
}

/** How many rows a second, and for how long nothing else on this thread got through. */
async function watch(call: () => Promise<number>): Promise<string> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const startedAt = performance.now();
  const rows = await call();
  const seconds = (performance.now() - startedAt) / 1000;
  delays.disable();
  return `${rows} rows, ${Math.round(rows / seconds)}/s, others waited ${Math.round(delays.max / 1e6)} ms at most`;
}
