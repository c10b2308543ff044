import type { Dialect } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import { firstTables } from './0001-first-tables.ts';
import { auditAssignmentsIdempotency } from './0002-audit-assignments-idempotency.ts';
import { attempts } from './0003-attempts.ts';
import { disabledBy } from './0004-disabled-by.ts';
import { revocationSequence } from './0005-revocation-sequence.ts';
import { consentHosts } from './0006-consent-hosts.ts';
import { clientLifetimes } from './0007-client-lifetimes.ts';
import { rowLocks } from './0008-row-locks.ts';
import { clientRegistration } from './0009-client-registration.ts';
import { assertions } from './0010-assertions.ts';
import { dynamicRegistration } from './0012-dynamic-registration.ts';
import { deviceCodes } from './0013-device-codes.ts';
import { registrationClaims } from './0014-registration-claims.ts';
import { consentIndex } from './0015-consent-index.ts';
import { clientNames } from './0016-client-names.ts';
import type { Migration } from './migration.ts';

/** Every step of the schema, oldest first. */
export const migrations: readonly Migration[] = [
  firstTables,
  auditAssignmentsIdempotency,
  attempts,
  disabledBy,
  revocationSequence,
  consentHosts,
  clientLifetimes,
  rowLocks,
  clientRegistration,
  assertions,
  dynamicRegistration,
  deviceCodes,
  registrationClaims,
  consentIndex,
  clientNames,
];

/** Names of the migrations that have not run, in order. On a database without Gatehouse's tables, all of them. */
export async function findPendingMigrations(
  statements: Statements,
  dialect: Dialect,
): Promise<readonly string[]> {
  const applied = await appliedMigrations(statements, dialect);
  return migrations.map(({ name }) => name).filter((name) => !applied.has(name));
}

async function appliedMigrations(statements: Statements, dialect: Dialect): Promise<ReadonlySet<string>> {
  try {
    const rows = await statements.all<{ name: string }>('select name from gatehouse_migrations');
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (dialect.errorKind(error) === 'missing table') return new Set();
    throw error;
  }
}
