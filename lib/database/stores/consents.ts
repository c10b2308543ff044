import { isDeepStrictEqual } from 'node:util';

import { mergeConsents, NO_SCOPES } from '../../contracts/consents.ts';
import type { Consent, ConsentStore } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect, RemovableRows } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';
import { deleteInBatches } from './batches.ts';
import { UNLESS_USER_ENDED, USER_IS_NOT_ENDED } from '../ends.ts';
import { integer, json, mapRows, optional, text } from '../rows.ts';
import type { Column, Row } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/** Consents of users to clients. */
export function consentStore(database: Database): ConsentStore {
  const add = createAddConsent(database.dialect);

  return {
    async find(userId, clientId) {
      const row = await database.get<Row>(
        `select ${CONSENTS.columns} from gatehouse_consents where user_id = ? and client_id = ?`,
        [userId, clientId],
      );
      return row && CONSENTS.read(row);
    },
    async add(consent, sequence) {
      // Most consents are the first of their user for the client. One statement then does what otherwise takes a transaction of four.
      if (await database.insertUnlessStored(INSERT, toInsertedValues(consent, sequence))) return;
      await database.transaction(async (statements) => add(statements, consent, sequence));
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
      return deleteInBatches(database, ALL);
    },
    async list(userId) {
      const rows = await database.all<Row>(
        `select ${CONSENTS.columns} from gatehouse_consents where user_id = ? order by created_at, client_id`,
        [userId],
      );
      return rows.map(CONSENTS.read);
    },
  };
}

/** Makes the function that adds a consent inside a transaction. */
export function createAddConsent(
  dialect: Pick<Dialect, 'onConflict'>,
): (statements: Statements, consent: Consent, sequence?: number) => Promise<void> {
  const conflict = dialect.onConflict({
    table: 'gatehouse_consents',
    key: ['user_id', 'client_id'],
    greatest: ['updated_at'],
  });
  const insert = `${INSERT} ${conflict}`;

  return async function addConsent(statements, consent, sequence = NEVER_ENDED) {
    const { userId, clientId } = consent;
    // An insert and an update both lock the row: until the commit, no other transaction changes or removes it, so that reading it
    // needs no lock. It is the transaction's first read without one, so InnoDB has no snapshot from before.
    await statements.run(insert, toInsertedValues(consent, sequence));
    const values = [userId, clientId, userId, sequence];
    const stored = await statements.get<Scopes>(FIND_CONSENT, values);
    if (!stored) return;
    const before = { scopes: SCOPES.toMember(stored.scopes), hosts: HOSTS.toMember(stored.hosts) };
    const after = mergeConsents(before, consent);
    if (isDeepStrictEqual(after, { ...consent, ...before })) return;
    const changed = [SCOPES.toValue(after.scopes), HOSTS.toValue(after.hosts)];
    await statements.run(SET_CONSENT, [...changed, userId, clientId]);
  };
}

const ALL: RemovableRows = {
  table: 'gatehouse_consents',
  key: ['user_id', 'client_id'],
  condition: '1 = 1',
  values: [],
};

const SCOPES = json<Consent['scopes']>('scopes');

export const HOSTS: Column<Consent['hosts']> = json('hosts');

const CONSENTS = mapRows<Consent>(CORE_TABLES.consents, {
  userId: text('user_id'),
  clientId: text('client_id'),
  scopes: SCOPES,
  hosts: HOSTS,
  createdAt: integer('created_at'),
  updatedAt: integer('updated_at'),
  lastUsedAt: optional(integer('last_used_at')),
});

const INSERT = `${CONSENTS.insertFor()} ${UNLESS_USER_ENDED}`;

const NEVER_ENDED = Number.MAX_SAFE_INTEGER;

function toInsertedValues(consent: Consent, sequence = NEVER_ENDED): readonly Value[] {
  return [...CONSENTS.values(mergeConsents(NO_SCOPES, consent)), consent.userId, sequence];
}

const FIND_CONSENT = `
  select scopes, hosts from gatehouse_consents where user_id = ? and client_id = ? and ${USER_IS_NOT_ENDED}`;

const SET_CONSENT = 'update gatehouse_consents set scopes = ?, hosts = ? where user_id = ? and client_id = ?';

interface Scopes {
  readonly scopes: string;
  readonly hosts: string;
}

// Conditional, because a later time may have been written first.
const TOUCH = `
  update gatehouse_consents set last_used_at = ?
  where user_id = ? and client_id = ? and (last_used_at is null or last_used_at < ?)`;
