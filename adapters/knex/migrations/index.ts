import { firstTables } from './0001-first-tables.ts';
import { auditAssignmentsIdempotency } from './0002-audit-assignments-idempotency.ts';
import { attempts } from './0003-attempts.ts';
import { disabledBy } from './0004-disabled-by.ts';
import { revocationSequence } from './0005-revocation-sequence.ts';
import { consentHosts } from './0006-consent-hosts.ts';
import { clientLifetimes } from './0007-client-lifetimes.ts';
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
];
