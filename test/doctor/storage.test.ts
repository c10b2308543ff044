import test from 'ava';
import { createAdministration, StorageError } from 'koa-gatehouse';
import type { Finding, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { around } from '../harness/storage.ts';

async function check(storage: Storage): Promise<readonly Finding[]> {
  return createAdministration({ storage }).check();
}

/** A storage with a key, so that nothing is found at first. */
async function sound(): Promise<Storage> {
  const storage = memoryStorage();
  await createAdministration({ storage }).keys.rotate();
  return storage;
}

/** The storage with another diagnosis. */
function diagnosed(storage: Storage, diagnosis: Partial<Awaited<ReturnType<Storage['diagnose']>>>): Storage {
  return around(storage, async (name, call) => {
    const result = await call();
    return name === 'diagnose' ? { ...(result as object), ...diagnosis } : result;
  });
}

test('nothing is found where nothing is wrong', async (t) => {
  t.deepEqual(await check(await sound()), []);
});

test('migrations that have not run are all that is said, since nothing else can be asked', async (t) => {
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  const [first, ...others] = await check(storage);
  t.deepEqual(first, {
    code: 'migration_pending',
    severity: 'error',
    message: 'The migration 0001_first_tables has not run.',
    remedy: 'Run `gatehouse migrate` or `await storage.migrate()`.',
  });
  t.true(others.every(({ code }) => code === 'migration_pending'));
  await storage.close();
});

test('a database that does not answer is a finding, not an exception', async (t) => {
  const away = around(await sound(), async () => {
    throw new StorageError('The database could not be used (ECONNREFUSED).');
  });
  t.deepEqual(await check(away), [
    {
      code: 'database_unreachable',
      severity: 'error',
      message: 'The database could not be used (ECONNREFUSED).',
      remedy: 'Start the database, or correct its address and the password of its user.',
    },
  ]);
});

test('a database that goes away in the middle leaves what was found before', async (t) => {
  const storage = diagnosed(await sound(), { clock: Date.now() + 60_000 });
  const going = around(storage, async (name, call) => {
    if (name === 'keys.list') throw new StorageError('The database could not be used (ECONNRESET).');
    return call();
  });
  t.deepEqual(
    (await check(going)).map(({ code }) => code),
    ['clock_differs', 'database_unreachable'],
  );
});

test("a mistake of ours is thrown, and not taken for the database's", async (t) => {
  const broken = around(await sound(), async () => {
    throw new TypeError('undefined is not a function');
  });
  await t.throwsAsync(check(broken), { instanceOf: TypeError });
});

for (const [offset, severity, message] of [
  [-1500, undefined, undefined],
  [1500, undefined, undefined],
  [-10_000, 'warning', "The clock of the database is 10 s behind this machine's."],
  [10_000, 'warning', "The clock of the database is 10 s ahead of this machine's."],
  [-45_000, 'error', "The clock of the database is 45 s behind this machine's."],
  [45_000, 'error', "The clock of the database is 45 s ahead of this machine's."],
] as const) {
  test(`a clock that is ${offset / 1000} s off is ${severity ?? 'fine'}`, async (t) => {
    const found = await check(diagnosed(await sound(), { clock: Date.now() + offset }));
    t.deepEqual(
      found.map((one) => [one.code, one.severity, one.message]),
      severity ? [['clock_differs', severity, message]] : [],
    );
  });
}

// Serial, because it moves the clock of the process.
test.serial('a database that takes long to answer is no wrong clock', async (t) => {
  const storage = await sound();
  const real = Date.now;
  const slow = around(storage, async (name, call) => {
    if (name !== 'diagnose') return call();
    const clock = Date.now() + 5000;
    // The answer is read ten seconds after it was asked for, as this process sees it.
    Date.now = () => real() + 10_000;
    return { clock, oldestExpired: undefined };
  });
  try {
    t.deepEqual(await check(slow), []);
  } finally {
    Date.now = real;
  }
});

test('expired rows that nobody has removed for days are found', async (t) => {
  const seconds = Math.floor(Date.now() / 1000);
  const lag = async (hours: number): Promise<readonly Finding[]> =>
    check(diagnosed(await sound(), { oldestExpired: seconds - hours * 3600 }));
  t.deepEqual(await lag(47), []);
  t.deepEqual(await lag(72), [
    {
      code: 'pruning_behind',
      severity: 'warning',
      message: 'Rows that expired 3 days ago have not been removed.',
      remedy:
        'Run `gatehouse prune` now, and check that a server runs with `pruneInterval`, or that `gatehouse prune` runs every day.',
    },
  ]);
});
