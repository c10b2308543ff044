import { DAY, HOUR, toSeconds } from '../../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../../contracts/duration.ts';
import { now, readState } from '../../contracts/clock.ts';
import type { Finding, Storage, StorageAccess, StorageDiagnosis } from '../../contracts/index.ts';
import { StorageError } from '../../errors.ts';
import { failure, warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import type { CheckedServer } from './check.ts';
import { checkClients } from './clients.ts';
import { checkIssuer } from './issuer.ts';
import { checkKeys } from './keys.ts';
import { isLostInProduction } from '../../options/resolve.ts';

/** Runs every check that the state of the storage permits. Resolves to the findings, errors first. */
export async function runChecks(server: CheckedServer): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of runAll(server)) findings.push(finding);
  return findings.toSorted((one, other) => rank(one) - rank(other));
}

async function* runAll(server: CheckedServer): Findings {
  yield* checkDurable(server.storage);
  yield* checkStored(server);
  yield* checkCookieKeys(server);
  for (const check of server.further ?? []) yield* check();
  yield* checkIssuer(server);
}

async function* checkStored(server: CheckedServer): Findings {
  const { pruneInterval, storage } = server;
  try {
    const pending = await storage.pendingMigrations();
    for (const name of pending) {
      yield failure(
        'migration_pending',
        `The migration ${name} has not run.`,
        'Run `gatehouse migrate` or `await storage.migrate()`.',
      );
    }
    yield* checkAccess(await storage.access(), pending.length > 0);
    // The other checks need the tables of this version.
    if (pending.length > 0) return;
    yield* checkClock((await readState(storage)).ahead);
    const { cache, listening, oldestExpired, withoutTransactions } = await storage.diagnose();
    yield* checkTransactions(withoutTransactions);
    yield* checkPruning(oldestExpired, pruneInterval);
    yield* checkCache(cache);
    yield* checkListening(listening);
    yield* checkKeys(server);
    yield* checkClients(server);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.message.includes('lacks a privilege')) {
      yield failure(
        'database_not_permitted',
        error.message,
        'Let the user of the database select, insert, update and delete in the tables that begin with gatehouse_: on PostgreSQL `grant usage on schema … to …` and `grant select, insert, update, delete on all tables in schema … to …`, on MariaDB and MySQL `grant select, insert, update, delete on ….* to …`.',
      );
      return;
    }
    yield failure(
      'database_unreachable',
      error.message,
      error.message.includes('(SQLITE_')
        ? 'Correct the path of the file, and let the user of this process write the file and its folder.'
        : 'Start the database, or correct its address and the password and privileges of its user.',
    );
  }
}

function* checkDurable(storage: Pick<Storage, 'durable'>): Iterable<Finding> {
  if (!isLostInProduction(storage)) return;
  yield failure(
    'storage_not_durable',
    'The storage loses all apps, consents, tokens and keys when the process ends, and other nodes do not see them.',
    'Use knexStorage(knex) in production: memoryStorage() is for tests and first steps.',
  );
}

function rank({ severity }: Finding): number {
  return severity === 'error' ? 0 : 1;
}

// In milliseconds. Above the second one, half the lifetime of a code (one minute) and of the delay of a new key is lost.
const WARNING_DIFFERENCE = 2000;
const ERROR_DIFFERENCE = 30_000;

/**
 * Compares this machine's clock with the database's, as a reference for all nodes: tokens that are issued on a node whose clock
 * is ahead are not valid yet on the others.
 */
function* checkClock(difference: Milliseconds): Iterable<Finding> {
  if (Math.abs(difference) <= WARNING_DIFFERENCE) return;
  const seconds = Math.round(toSeconds(Math.abs(difference)));
  const report = Math.abs(difference) > ERROR_DIFFERENCE ? failure : warning;
  yield report(
    'clock_differs',
    `The clock of the database is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} this machine's.`,
    'Synchronize the clocks of all machines with a time service such as chrony or systemd-timesyncd.',
  );
}

// 32 random characters of any usual alphabet, hexadecimal digits included, have more different ones.
const MIN_DIFFERENT_CHARACTERS = 8;

/**
 * Finds keys of the option `secrets.cookieKeys` that can be guessed. Their length is checked when a server starts. Keys that a server
 * has generated itself are random, and need no check.
 */
function* checkCookieKeys({ cookieKeys = [] }: CheckedServer): Iterable<Finding> {
  const weak = cookieKeys.filter((key) => new Set(key).size < MIN_DIFFERENT_CHARACTERS);
  if (weak.length === 0) return;
  yield failure(
    'cookie_keys_weak',
    `${weak.length === 1 ? 'A cookie key is' : `${weak.length} cookie keys are`} made of very few different characters and easy to guess, so sessions can be forged.`,
    'Use random keys, such as those of `openssl rand -base64 32`, or leave out secrets.cookieKeys: the server then creates and stores one.',
  );
}

/** @param isPending - whether a migration has to run */
function* checkAccess({ noMigrations, readOnly }: StorageAccess, isPending: boolean): Iterable<Finding> {
  if (readOnly !== undefined) {
    yield failure(
      'database_read_only',
      `The rows of the database cannot be changed ${readOnly}.`,
      'Let the user of the database select, insert, update and delete in the tables that begin with gatehouse_, or the user of this process write the SQLite file and its folder; give the address of the primary, not of a standby.',
    );
  }
  if (noMigrations === undefined) return;
  const report = isPending ? failure : warning;
  yield report(
    'migrations_not_permitted',
    `The tables of the database cannot be created or changed ${noMigrations}.`,
    isPending
      ? 'Run `gatehouse migrate` with a user that may create tables and owns those that begin with gatehouse_.'
      : 'Nothing, if you run `gatehouse migrate` with another user; else let this user create tables and own those that begin with gatehouse_.',
  );
}

/** Checks that expired rows are deleted in time. */
function* checkPruning(
  oldestExpired: StorageDiagnosis['oldestExpired'],
  pruneInterval: Seconds,
): Iterable<Finding> {
  const lag = now() - (oldestExpired ?? now());
  // Without an interval of the server, a daily cron job is expected.
  if (lag <= 2 * (pruneInterval || DAY)) return;
  yield warning(
    'pruning_behind',
    `Rows that expired ${describeLag(lag)} ago have not been removed.`,
    'Run `gatehouse prune` now, and check that a server runs with `retention.pruneInterval`, or that `gatehouse prune` runs every day.',
  );
}

/** Checks that the tables have transactions, which nothing that is redeemed once can do without. */
function* checkTransactions(tables: StorageDiagnosis['withoutTransactions']): Iterable<Finding> {
  if (tables.length === 0) return;
  const names =
    tables.length > 3 ? `${tables.slice(0, 3).join(', ')} and ${tables.length - 3} more` : tables.join(', ');
  yield failure(
    'tables_without_transactions',
    `Tables of the database have no transactions: ${names}.`,
    `Run for each of them, while no server runs: \`alter table ${tables[0]} engine = InnoDB\`.`,
  );
}

const MEBIBYTE = 1024 * 1024;

/** Checks that the tables fit in the cache of the database, where it has one of its own. */
function* checkCache(cache: StorageDiagnosis['cache']): Iterable<Finding> {
  if (cache === undefined || cache.needed <= cache.size) return;
  const needed = Math.ceil(cache.needed / MEBIBYTE);
  const size = Math.floor(cache.size / MEBIBYTE);
  // A half more to grow, in steps of 128 MiB, because MySQL allocates its cache in parts of that size.
  const enough = Math.ceil((cache.needed * 1.5) / (128 * MEBIBYTE)) * 128;
  yield warning(
    'database_cache_small',
    `The tables have ${needed} MiB and the cache of the database, the InnoDB buffer pool, has ${size} MiB, so requests wait for reads from the disk.`,
    `Set innodb_buffer_pool_size of the database server to ${enough}M or more, which leaves room to grow; other tables on the server need room besides.`,
  );
}

/** Checks that a server learns at once what other nodes revoke, where the database has messages for that. */
function* checkListening(listening: StorageDiagnosis['listening']): Iterable<Finding> {
  if (listening === undefined) return;
  const reason =
    listening === 'pooled'
      ? 'The database is behind a pooler such as PgBouncer, which passes no notifications on'
      : 'The address for notifications cannot be reached';
  yield warning(
    'notifications_off',
    `${reason}, so a server learns of revocations on other nodes only within tokens.revocationLag.`,
    "Give the address of the PostgreSQL server itself for them, knexStorage(database, { listen: 'postgres://…' }), or listen: false if tokens.revocationLag is short enough.",
  );
}

function describeLag(seconds: Seconds): string {
  const [count, unit] =
    seconds < 2 * DAY ? [Math.floor(seconds / HOUR), 'hour'] : [Math.floor(seconds / DAY), 'day'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
