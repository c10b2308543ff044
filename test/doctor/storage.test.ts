import { writeFileSync } from 'node:fs';

import test from '../harness/test.ts';
import { createAdministration, StorageError } from 'koa-gatehouse';
import type { Finding, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { around } from '../harness/storage.ts';

async function check(storage: Storage): Promise<readonly Finding[]> {
  return createAdministration({ storage }).doctor();
}

/** A storage with a key, so that nothing is reported at first. */
async function storageWithKey(): Promise<Storage> {
  const storage = memoryStorage();
  await createAdministration({ storage }).signingKeys.rotate();
  return storage;
}

/** The storage with another result of diagnose() or state(). */
function diagnosed(
  storage: Storage,
  diagnosis: Partial<Awaited<ReturnType<Storage['diagnose'] | Storage['state']>>>,
): Storage {
  return around(storage, async (name, call) => {
    const result = await call();
    return name === 'diagnose' || name === 'state' ? { ...(result as object), ...diagnosis } : result;
  });
}

test('pending migrations are the only finding, because other tables cannot be read', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  const [first, ...others] = await check(storage);
  t.deepEqual(first, {
    code: 'migration_pending',
    severity: 'error',
    message: 'The migration 0001_tables has not run.',
    remedy: 'Run `gatehouse migrate` or `await storage.migrate()`.',
  });
  t.true(others.every(({ code }) => code === 'migration_pending'));
  await storage.close();
});

/** A storage whose clock is wrong, and whose calls fail: all, or those that `at` names. */
async function failing(error: Error, at: (name: string) => boolean = () => true): Promise<Storage> {
  return around(diagnosed(await storageWithKey(), { clock: Date.now() + 60_000 }), async (name, call) => {
    if (at(name)) throw error;
    return call();
  });
}

test('a database that fails is a finding with a remedy, after those before it; another error is thrown', async (t) => {
  const refused = new StorageError('The database could not be used (ECONNREFUSED).');
  const unreachable = {
    code: 'database_unreachable',
    severity: 'error',
    message: 'The database could not be used (ECONNREFUSED).',
    remedy: 'Start the database, or correct its address and the password and privileges of its user.',
  };
  t.deepEqual(await check(await failing(refused)), [unreachable]);
  const [clock, later, ...others] = await check(await failing(refused, (name) => name === 'keys.list'));
  t.is(clock?.code, 'clock_differs');
  t.deepEqual([later, others], [unreachable, []]);
  await t.throwsAsync(check(await failing(new TypeError('undefined is not a function'))), {
    instanceOf: TypeError,
  });

  const file = temporaryFile();
  writeFileSync(file, 'not a database');
  const storage = knexStorage(`sqlite:${file}`);
  t.deepEqual(await check(storage), [
    {
      code: 'database_unreachable',
      severity: 'error',
      message: 'The database could not be used (SQLITE_NOTADB): the file is not an SQLite database.',
      remedy: 'Correct the path of the file, and let the user of this process write the file and its folder.',
    },
  ]);
  await storage.close();
});

test('a clock that differs by seconds is reported, and by half a minute is an error', async (t) => {
  for (const [offset, severity, message] of [
    [-1500, undefined, undefined],
    [1500, undefined, undefined],
    [-10_000, 'warning', "The clock of the database is 10 s behind this machine's."],
    [10_000, 'warning', "The clock of the database is 10 s ahead of this machine's."],
    [-45_000, 'error', "The clock of the database is 45 s behind this machine's."],
    [45_000, 'error', "The clock of the database is 45 s ahead of this machine's."],
  ] as const) {
    const clock = {
      get clock() {
        return Date.now() + offset;
      },
    };
    const found = await check(diagnosed(await storageWithKey(), clock));
    t.deepEqual(
      found.map((one) => [one.code, one.severity, one.message]),
      severity ? [['clock_differs', severity, message]] : [],
    );
  }
});

// Serial, because it sets the clock of the process.
test.serial('a slow response of the database is not reported as a wrong clock', async (t) => {
  const storage = await storageWithKey();
  const real = Date.now;
  const slow = around(storage, async (name, call) => {
    if (name !== 'state') return call();
    const clock = Date.now() + 5000;
    // This process reads the response ten seconds after the request.
    Date.now = () => real() + 10_000;
    return { clock, failing: undefined };
  });
  try {
    t.deepEqual(await check(slow), []);
  } finally {
    Date.now = real;
  }
});

test('rows that expired days ago are reported', async (t) => {
  const seconds = Math.floor(Date.now() / 1000);
  const lag = async (hours: number): Promise<readonly Finding[]> =>
    check(diagnosed(await storageWithKey(), { oldestExpired: seconds - hours * 3600 }));
  t.deepEqual(await lag(47), []);
  t.deepEqual(await lag(72), [
    {
      code: 'pruning_behind',
      severity: 'warning',
      message: 'Rows that expired 3 days ago have not been removed.',
      remedy:
        'Run `gatehouse prune` now, and check that a server runs with `retention.pruneInterval`, or that `gatehouse prune` runs every day.',
    },
  ]);
});

const MEBIBYTE = 1024 * 1024;

test('tables that do not fit in the cache of the database are reported, with a size that is enough', async (t) => {
  const withTables = async (needed: number): Promise<readonly Finding[]> =>
    check(diagnosed(await storageWithKey(), { cache: { size: 128 * MEBIBYTE, needed } }));
  t.deepEqual(await withTables(128 * MEBIBYTE), []);
  t.deepEqual(await withTables(999.5 * MEBIBYTE), [
    {
      code: 'database_cache_small',
      severity: 'warning',
      message:
        'The tables have 1000 MiB and the cache of the database, the InnoDB buffer pool, has 128 MiB, so requests wait for reads from the disk.',
      remedy:
        'Set innodb_buffer_pool_size of the database server to 1536M or more, which leaves room to grow; other tables on the server need room besides.',
    },
  ]);
});
