import { now } from '../../lib/contracts/clock.ts';
import type {
  AssignmentStore,
  AttemptStore,
  Consent,
  FoundSession,
  KeyStore,
  Seconds,
  SessionStore,
  Storage,
} from '../../lib/contracts/index.ts';
import { auditStore } from './audit.ts';
import { clientStore } from './clients.ts';
import { consentStore } from './consents.ts';
import { deviceCodeStore } from './devices.ts';
import { grantStore } from './grants.ts';
import { idempotencyStore } from './idempotency.ts';
import { logoutStore, signOut } from './logouts.ts';
import { registrationStore } from './registrations.ts';
import { passportUseStore } from './passport-uses.ts';
import { personalTokenStore } from './personal-tokens.ts';
import { revocationStore } from './revocations.ts';
import { userDataStore } from './user-data.ts';
import {
  changeRow,
  copy,
  copyWithPayload,
  emptyTables,
  endOfUser,
  isUserEnded,
  keyOf,
  throwIfTaken,
} from './tables.ts';
import type { Tables } from './tables.ts';

/**
 * Storage in the memory of this process, for tests and first steps.
 *
 * Its data is lost when the process ends, and other nodes cannot read it. It needs no migration. Its `transaction()` only runs
 * the work: changes that were made before an error are not rolled back.
 */
export function memoryStorage(): Storage {
  const tables = emptyTables();
  return {
    durable: false,
    clients: clientStore(tables),
    registrations: registrationStore(tables),
    consents: consentStore(tables),
    grants: grantStore(tables),
    revocations: revocationStore(tables),
    sessions: sessionStore(tables),
    keys: keyStore(tables),
    assignments: assignmentStore(tables),
    audit: auditStore(tables),
    idempotency: idempotencyStore(tables),
    attempts: attemptStore(tables),
    deviceCodes: deviceCodeStore(tables),
    logouts: logoutStore(tables),
    personalTokens: personalTokenStore(tables),
    passportUses: passportUseStore(tables),
    userData: userDataStore(tables),
    transaction: async (work) => work(undefined),
    async migrate() {},
    pendingMigrations: async () => [],
    prune: async (at, limit) => prune(tables, at, limit),
    state: async () => ({ clock: undefined, failing: undefined }),
    diagnose: async () => ({
      oldestExpired: oldestExpired(tables, now()),
      withoutTransactions: [],
      cache: undefined,
      listening: undefined,
    }),
    access: async () => ({ readOnly: undefined, noMigrations: undefined }),
    async close() {},
  };
}

/** Login sessions of browsers. */
function sessionStore(tables: Tables): SessionStore {
  const { consents, ends, sessions } = tables;
  return {
    async insert(session) {
      throwIfTaken(sessions, session.id);
      if (isUserEnded(tables, session.userId, session.sequence)) return;
      sessions.set(session.id, copyWithPayload(session));
    },
    async find(id, clientId) {
      const session = sessions.get(id);
      if (!session || session.sequence < endOfUser(tables, session.userId)) return undefined;
      const consent = clientId === undefined ? undefined : consents.get(keyOf(session.userId, clientId));
      const grants = [...tables.grants.values()].filter(
        ({ grant }) =>
          grant.userId === session.userId && grant.clientId === clientId && grant.revokedAt === undefined,
      ).length;
      return copy({ session, sequence: ends.latest, consent: consent && toFound(consent), grants });
    },
    async update({ id, payload, expiresAt }) {
      return changeRow(sessions, id, () => copyWithPayload({ payload, expiresAt }));
    },
    async delete(id, notice) {
      const session = sessions.get(id);
      sessions.delete(id);
      if (session && notice) signOut(tables, session, notice);
    },
    async deleteOfUser(userId) {
      const ids = [...sessions.values()].filter((session) => session.userId === userId).map(({ id }) => id);
      for (const id of ids) sessions.delete(id);
      return ids.length;
    },
  };
}

function toFound({ clientId, createdAt, hosts, userId }: Consent): FoundSession['consent'] {
  return { userId, clientId, hosts, createdAt };
}

/** Signing and cookie keys of the server. */
function keyStore({ keys }: Tables): KeyStore {
  return {
    async list(use) {
      return [...keys.values()]
        .filter((key) => key.use === use)
        .toSorted((a, b) => a.generation - b.generation)
        .map(copy);
    },
    async insert(key) {
      const taken = [...keys.values()].some(
        ({ id, use, generation }) => id === key.id || (use === key.use && generation === key.generation),
      );
      if (!taken) keys.set(key.id, copy(key));
      return !taken;
    },
    async retire(id, retiresAt) {
      changeRow(keys, id, (key) => ({ retiresAt: Math.min(key.retiresAt ?? Infinity, retiresAt) }));
    },
    async replaceMaterial(id, from, to) {
      return changeRow(keys, id, ({ material }) => material === from && { material: to });
    },
  };
}

/** Role assignments: roles and permissions of users. */
function assignmentStore({ assignments }: Tables): AssignmentStore {
  return {
    async find(userId) {
      return copy(assignments.get(userId) ?? { roles: [], permissions: [] });
    },
    async save(userId, assignment) {
      assignments.set(userId, copy(assignment));
    },
    async delete(userId) {
      return assignments.delete(userId);
    },
  };
}

/** Counted attempts, such as logins with a wrong password. */
function attemptStore({ attempts, ends }: Tables): AttemptStore {
  return {
    async count(counters, { now: at, expiresAt }) {
      const rows = counters.map(({ id, limit }) => {
        const row = attempts.get(id);
        return { id, limit, ...(row && row.expiresAt > at ? row : { count: 0, expiresAt }) };
      });
      const full = rows.find(({ count, limit }) => count >= limit);
      if (full) return { full: { id: full.id, expiresAt: full.expiresAt } };
      for (const { id, count, expiresAt: end } of rows)
        attempts.set(id, { count: count + 1, expiresAt: end });
      return { full: undefined, sequence: ends.latest };
    },
    async reserve({ id, limit }, { amount, now: at, expiresAt }) {
      const row = attempts.get(id);
      const open = row && row.expiresAt > at ? row : { count: 0, expiresAt };
      const reserved = Math.max(0, Math.min(amount, limit - open.count));
      const count = open.count + reserved;
      if (reserved > 0) attempts.set(id, { ...open, count });
      return { reserved, left: Math.max(0, limit - count), expiresAt: open.expiresAt };
    },
    async release(ids, reset = []) {
      for (const id of ids) changeRow(attempts, id, ({ count }) => count > 0 && { count: count - 1 });
      for (const id of reset) attempts.delete(id);
    },
  };
}

/** Removes up to `limit` expired rows. A grant stays until all credentials that were issued from it have expired. */
function prune(tables: Tables, at: Seconds, limit: number): number {
  let removed = 0;
  for (const { rows, key, expiresAt } of expiring(tables)) {
    if (removed >= limit) break;
    if (expiresAt >= at) continue;
    rows.delete(key);
    removed += 1;
  }
  return removed;
}

/** The expiry of the oldest row that {@link prune} would remove; `undefined` when there is none. */
function oldestExpired(tables: Tables, at: Seconds): Seconds | undefined {
  let oldest: Seconds | undefined;
  for (const { expiresAt } of expiring(tables)) {
    if (expiresAt < at && expiresAt < (oldest ?? Infinity)) oldest = expiresAt;
  }
  return oldest;
}

interface ExpiringRow {
  readonly rows: Map<string, unknown>;
  readonly key: string;
  readonly expiresAt: Seconds;
}

function* expiring(tables: Tables): Generator<ExpiringRow> {
  const { assertions, attempts, audit, credentials, deviceCodes, grants, keys, requests, sessions } = tables;
  const { logouts, passportUses, personalTokens, revokedTokens } = tables;
  const withExpiry = [sessions, credentials, revokedTokens, requests, audit, attempts, assertions, logouts];
  for (const rows of [...withExpiry, personalTokens, passportUses]) {
    for (const [key, { expiresAt }] of rows) yield { rows, key, expiresAt };
  }
  for (const [key, { keptUntil }] of deviceCodes) yield { rows: deviceCodes, key, expiresAt: keptUntil };
  for (const [key, { neededUntil }] of grants) yield { rows: grants, key, expiresAt: neededUntil };
  for (const [key, { retiresAt = Infinity }] of keys) yield { rows: keys, key, expiresAt: retiresAt };
}
