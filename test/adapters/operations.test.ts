import { globSync, readFileSync } from 'node:fs';

import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { TABLES } from '../../lib/database/tables.ts';
import { around } from '../harness/storage.ts';
import { fileWithTables } from './file-with-tables.ts';
import { openHost } from './host-knex.ts';
import { BIG_TABLES, fill, OPERATIONS, READ_MUCH } from './operations.ts';

/** The names of the stores of features. */
const OF_FEATURES = globSync('lib/features/**/*.ts').flatMap((file) =>
  Array.from(readFileSync(file, 'utf8').matchAll(/\.store\('(\w+)'/g), ([, name]) => name!),
);

/** The methods of stores, such as `grants.redeem`. */
function methodsOf(stores: object): string[] {
  return Object.entries(stores).flatMap(([name, store]: [string, unknown]) =>
    typeof store === 'object' && store !== null
      ? Object.keys(store).map((method) => `${name}.${method}`)
      : [],
  );
}

test('each method of a store is called by an operation, whose statements and plans are tested', async (t) => {
  const host = openHost(t, 'better-sqlite3', `sqlite:${await fileWithTables()}`);
  const storage = knexStorage(host);
  const made: Record<string, object> = {};
  const called = new Set<string>();
  const observed = around(
    {
      ...storage,
      store(name, make) {
        const store = storage.store(name, make);
        made[name] = store;
        return store;
      },
    },
    async (name, call) => {
      called.add(name);
      return call();
    },
  );
  await fill(host, 'better-sqlite3', 1, 9);
  for (const run of Object.values(OPERATIONS)) await run(observed);
  t.deepEqual(
    OF_FEATURES.filter((name) => !(name in made)),
    [],
    'add an operation that opens the store, to REQUESTS or to OTHERS in test/adapters/operations.ts',
  );
  const methods = methodsOf({ ...storage, ...made });
  t.true(methods.length > 60);
  const lacking = methods.filter((method) => !called.has(method) && !(method in READ_MUCH));
  t.deepEqual(
    lacking,
    [],
    'add an operation that calls it, to REQUESTS or to OTHERS in test/adapters/operations.ts',
  );
  const needless = Object.keys(READ_MUCH).filter((method) => called.has(method) || !methods.includes(method));
  t.deepEqual(needless, [], 'an operation calls it, or it is no method: remove it from READ_MUCH');
});

test('the operations are run with rows in each table that grows', async (t) => {
  const host = openHost(t, 'better-sqlite3', `sqlite:${await fileWithTables()}`);
  await fill(host, 'better-sqlite3', 1, 9);
  t.deepEqual(
    [...BIG_TABLES, 'gatehouse_keys', 'gatehouse_end_readers'].toSorted(),
    TABLES.map(({ name }) => name).toSorted(),
    'add the table to BIG_TABLES, and rows of it to fill(), in test/adapters/operations.ts',
  );
  for (const table of BIG_TABLES)
    t.true(
      (await host(table)).length >= 9,
      `${table}: add rows of it to fill() in test/adapters/operations.ts`,
    );
});
