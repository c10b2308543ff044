import { now } from '../contracts/clock.ts';
import type { Finding } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';
import type { Check, CheckedServer } from './check.ts';
import { checkClients } from './clients.ts';
import { checkIssuer } from './issuer.ts';
import { checkKeys } from './keys.ts';

/** Runs every check that the state of the storage allows, and tells what an operator should look at, errors first. */
export async function runChecks(server: CheckedServer): Promise<readonly Finding[]> {
  const findings = [
    ...(await withStorage(server, [checkMigrations], [checkClock, checkPruning, checkKeys, checkClients])),
    ...(await checkCookieKeys(server)),
    ...(await checkIssuer(server)),
  ];
  return findings.toSorted((one, other) => rank(one) - rank(other));
}

/** @param then - only when the first ones found nothing: without its tables nothing else can be asked of a storage */
async function withStorage(
  server: CheckedServer,
  first: readonly Check[],
  then: readonly Check[],
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  try {
    for (const check of first) findings.push(...(await check(server)));
    if (findings.length > 0) return findings;
    for (const check of then) findings.push(...(await check(server)));
    return findings;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return [...findings, unreachable(error)];
  }
}

function unreachable({ message }: StorageError): Finding {
  return {
    code: 'database_unreachable',
    severity: 'error',
    message,
    remedy: 'Start the database, or correct its address and the password of its user.',
  };
}

function rank({ severity }: Finding): number {
  return severity === 'error' ? 0 : 1;
}

// In milliseconds. A code lives a minute, and a key is published a minute before it signs.
const NOTICEABLE = 2000;
const HARMFUL = 30_000;

/**
 * Whether this machine's clock agrees with the database's, which stands for the other nodes': tokens that are issued on
 * a node whose clock is ahead are not valid yet on the others.
 */
async function checkClock({ storage }: CheckedServer): Promise<readonly Finding[]> {
  const asked = Date.now();
  const { clock } = await storage.diagnose();
  const answered = Date.now();
  if (clock === undefined) return [];
  // The database read its clock somewhere between the two: what is outside of them is surely wrong.
  const difference = clock > answered ? clock - answered : Math.min(clock - asked, 0);
  if (Math.abs(difference) <= NOTICEABLE) return [];
  const seconds = Math.round(Math.abs(difference) / 1000);
  return [
    {
      code: 'clock_differs',
      severity: Math.abs(difference) > HARMFUL ? 'error' : 'warning',
      message: `The clock of the database is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} this machine's.`,
      remedy:
        'Synchronize the clocks of all machines with a time service such as chrony or systemd-timesyncd.',
    },
  ];
}

// 32 random characters of any usual alphabet have more, the hexadecimal digits included.
const LEAST_DIFFERENT_CHARACTERS = 8;

/**
 * Whether the cookie keys that the host gives can be guessed. How long they are is checked when a server starts; those
 * that a server makes itself are random, and shared by all nodes.
 */
async function checkCookieKeys({ cookieKeys = [] }: CheckedServer): Promise<readonly Finding[]> {
  const weak = cookieKeys.filter((key) => new Set(key).size < LEAST_DIFFERENT_CHARACTERS);
  if (weak.length === 0) return [];
  return [
    {
      code: 'cookie_keys_weak',
      severity: 'error',
      message: `${weak.length === 1 ? 'A cookie key is' : `${weak.length} cookie keys are`} made of very few different characters and easy to guess, so sessions can be forged.`,
      remedy:
        'Use random keys, such as those of `openssl rand -base64 32`, or leave out cookieKeys: the server then creates and stores one.',
    },
  ];
}

/** Whether the tables are those of this version. */
async function checkMigrations({ storage }: CheckedServer): Promise<readonly Finding[]> {
  const pending = await storage.pendingMigrations();
  return pending.map((name) => ({
    code: 'migration_pending',
    severity: 'error',
    message: `The migration ${name} has not run.`,
    remedy: 'Run `gatehouse migrate` or `await storage.migrate()`.',
  }));
}

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Whether expired rows are removed as fast as they come. */
async function checkPruning({ storage, pruneInterval }: CheckedServer): Promise<readonly Finding[]> {
  const { oldestExpired } = await storage.diagnose();
  if (oldestExpired === undefined) return [];
  const lag = now() - oldestExpired;
  // Where a server does not prune, a nightly job is what people have.
  if (lag <= 2 * (pruneInterval || DAY)) return [];
  return [
    {
      code: 'pruning_behind',
      severity: 'warning',
      message: `Rows that expired ${inWords(lag)} ago have not been removed.`,
      remedy:
        'Run `gatehouse prune` now, and check that a server runs with `pruneInterval`, or that `gatehouse prune` runs every day.',
    },
  ];
}

function inWords(seconds: number): string {
  const [count, unit] =
    seconds < 2 * DAY ? [Math.floor(seconds / HOUR), 'hour'] : [Math.floor(seconds / DAY), 'day'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
