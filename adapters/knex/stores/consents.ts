import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import type { Consent, ConsentStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect, RemovableRows } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import { toOptionalNumber, toStrings } from './column-values.ts';
import type { Integer } from './column-values.ts';

// SQLite blocks the thread while it removes a batch, and a server locks its rows.
const BATCH = 200;

/** Consents of users to clients. */
export function consentStore(database: Database): ConsentStore {
  const add = createAddConsent(database.dialect);

  return {
    async find(userId, clientId) {
      const row = await database.get<ConsentRow>(
        `select ${COLUMNS} from gatehouse_consents where user_id = ? and client_id = ?`,
        [userId, clientId],
      );
      return row && toConsent(row);
    },
    async add(consent) {
      await database.transaction(async (statements) => add(statements, consent));
    },
    async touch(userId, clientId, at) {
      await database.run(TOUCH, [at, userId, clientId, at]);
    },
    async delete(userId, clientId) {
      const removed = await database.run(
        'delete from gatehouse_consents where user_id = ? and client_id = ?',
        [userId, clientId],
      );
      return removed > 0;
    },
    async deleteAll() {
      let removed = 0;
      for (;;) {
        const batch = await database.dialect.deleteSome(database, ALL, BATCH);
        if (batch === 0) return removed;
        removed += batch;
        await nextTurn();
      }
    },
    async list(userId) {
      const rows = await database.all<ConsentRow>(
        `select ${COLUMNS} from gatehouse_consents where user_id = ? order by created_at, client_id`,
        [userId],
      );
      return rows.map(toConsent);
    },
  };
}

/** Makes the function that adds a consent inside a transaction. */
export function createAddConsent(
  dialect: Dialect,
): (statements: Statements, consent: Consent) => Promise<void> {
  const conflict = dialect.onConflict({
    table: 'gatehouse_consents',
    key: ['user_id', 'client_id'],
    greatest: ['updated_at'],
  });
  const insert = `
    insert into gatehouse_consents (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?) ${conflict}`;
  const findConsentedScopes = `${FIND_CONSENT}${dialect.forUpdate}`;

  return async function addConsent(
    statements,
    { userId, clientId, scopes, hosts, createdAt, updatedAt, lastUsedAt },
  ) {
    const first = [merged([], scopes), mergedHosts({}, hosts)];
    // An insert and an update both lock the row: until the commit, no other transaction changes or removes it.
    await statements.run(insert, [userId, clientId, ...first, createdAt, updatedAt, lastUsedAt ?? null]);
    const row = await statements.get<Pick<ConsentRow, 'scopes' | 'hosts'>>(findConsentedScopes, [
      userId,
      clientId,
    ]);
    const before = [row!.scopes, row!.hosts];
    const after = [merged(toStrings(row!.scopes), scopes), mergedHosts(toHosts(row!.hosts), hosts)];
    if (!isDeepStrictEqual(after, before)) await statements.run(SET_CONSENT, [...after, userId, clientId]);
  };
}

const ALL: RemovableRows = {
  table: 'gatehouse_consents',
  key: ['user_id', 'client_id'],
  condition: '1 = 1',
  values: [],
};

const COLUMNS = 'user_id, client_id, scopes, hosts, created_at, updated_at, last_used_at';

const FIND_CONSENT = 'select scopes, hosts from gatehouse_consents where user_id = ? and client_id = ?';

const SET_CONSENT = 'update gatehouse_consents set scopes = ?, hosts = ? where user_id = ? and client_id = ?';

function merged(before: readonly string[], scopes: readonly string[]): string {
  return JSON.stringify(sorted(before, scopes));
}

function sorted(before: readonly string[] = [], scopes: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...scopes])].toSorted();
}

function mergedHosts(before: Consent['hosts'], hosts: Consent['hosts']): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(hosts)])].toSorted();
  const entries = names.map((name) => [name, sorted(before[name], hosts[name])]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** Empty for a row from before migration 0006, which has no hosts. */
export function toHosts(json: string | null): Consent['hosts'] {
  const hosts: Consent['hosts'] = JSON.parse(json ?? '{}');
  return hosts;
}

// Conditional, because a later time may have been written first.
const TOUCH = `
  update gatehouse_consents set last_used_at = ?
  where user_id = ? and client_id = ? and (last_used_at is null or last_used_at < ?)`;

interface ConsentRow {
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly hosts: string | null;
  readonly created_at: Integer;
  readonly updated_at: Integer;
  readonly last_used_at: Integer | null;
}

function toConsent(row: ConsentRow): Consent {
  return {
    userId: row.user_id,
    clientId: row.client_id,
    scopes: toStrings(row.scopes),
    hosts: toHosts(row.hosts),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    lastUsedAt: toOptionalNumber(row.last_used_at),
  };
}
