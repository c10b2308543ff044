import type { Finding } from '../contracts.ts';
import { StorageError } from '../errors.ts';
import type { Check, CheckSubject } from './check.ts';
import { checkClients } from './clients.ts';
import { checkClock } from './clock.ts';
import { checkCookieKeys } from './cookie-keys.ts';
import { checkIssuer } from './issuer.ts';
import { checkKeys } from './keys.ts';
import { checkMigrations } from './migrations.ts';
import { checkPruning } from './pruning.ts';

/** Runs every check that the state of the storage allows, and tells what an operator should look at, errors first. */
export async function runChecks(subject: CheckSubject): Promise<readonly Finding[]> {
  const findings = [
    ...(await withStorage(subject, [checkMigrations], [checkClock, checkPruning, checkKeys, checkClients])),
    ...(await checkCookieKeys(subject)),
    ...(await checkIssuer(subject)),
  ];
  return findings.toSorted((one, other) => rank(one) - rank(other));
}

/** @param then - only when the first ones found nothing: without its tables nothing else can be asked of a storage */
async function withStorage(
  subject: CheckSubject,
  first: readonly Check[],
  then: readonly Check[],
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  try {
    for (const check of first) findings.push(...(await check(subject)));
    if (findings.length > 0) return findings;
    for (const check of then) findings.push(...(await check(subject)));
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
