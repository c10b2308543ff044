import { setImmediate as nextTurn } from 'node:timers/promises';

import { now } from '../../contracts/clock.ts';
import { FEATURE_EVENTS } from '../../features/tables.ts';
import { ERASED_USER, isAboutUser, withoutUser } from '../../contracts/user-data.ts';
import type { AuditRecord, Grant, GrantOrigin, UserDataStore, UserSession } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Statements, Value } from '../statements.ts';
import { TABLES } from '../tables.ts';
import { toRecord } from './audit.ts';
import type { AuditRow } from './audit.ts';
import { BATCH } from './batches.ts';
import { isStorable, toPayload } from '../rows.ts';
import type { Integer, Row } from '../rows.ts';
import { GRANTS } from './grant-rows.ts';
import { revokeGrants, signInsOf } from './revoke-grants.ts';
import { SESSION_IS_LIVE } from './sessions.ts';

// Rows of a large table that one statement looks at, in the order of its primary key.
const PAGE = 2000;

/** What is stored of one user, in all tables. */
export function userDataStore(database: Database): UserDataStore {
  /** The pages of a table that has no index on the user: for each page, the id before it and its last id. */
  async function* pagesOf(table: string): AsyncGenerator<readonly [after: string, last: string]> {
    const end = `select max(id) as last from (select id from ${table} where id > ? order by id limit ${PAGE}) page`;
    for (let after = ''; ;) {
      const { last } = (await database.get<{ last: string | null }>(end, [after]))!;
      if (last === null) return;
      yield [after, last];
      after = last;
      await nextTurn();
    }
  }

  /** Deletes rows of a table by an index, in batches. */
  async function* deleteRows(
    table: string,
    key: readonly string[],
    condition: string,
    userId: string,
  ): AsyncGenerator<number> {
    const rows = { table, key, condition, values: [userId] };
    for (;;) {
      const deleted = await database.dialect.deleteSome(database, rows, BATCH);
      if (deleted === 0) return;
      yield deleted;
      await nextTurn();
    }
  }

  async function* readAudit(userId: string): AsyncGenerator<readonly AuditRow[]> {
    for await (const [after, last] of pagesOf('gatehouse_audit')) {
      const rows = await database.all<AuditRow>(AUDIT_OF_USER, [after, last, userId, actorIn(userId)]);
      const ofUser = rows.filter((row) => isAboutUser(toRecord(row), userId));
      if (ofUser.length > 0) yield ofUser;
    }
  }

  async function* eraseAudit(userId: string): AsyncGenerator<number> {
    for await (const rows of readAudit(userId)) {
      await database.transaction(async (statements) => {
        for (const row of rows) await eraseRecord(statements, row, userId);
      });
      yield rows.length;
    }
  }

  /** Credentials have no index on their grant, which would cost a write with each refresh. */
  async function* deleteGrants(userId: string): AsyncGenerator<number> {
    // A redemption under way finishes before this, and none stores a successor afterwards, which would be left without its grant. The
    // readers of the user's end find the sign-ins in the outbox after the grants have gone.
    await revokeGrants(database, signInsOf(userId), { at: now(), by: 'owner' });
    await revokeGrants(database, { sql: 'user_id = ?', values: [userId] }, { at: now(), by: undefined });
    if (!(await database.get(SOME_GRANT, [userId]))) return;
    for await (const [after, last] of pagesOf('gatehouse_credentials')) {
      const deleted = await database.run(DELETE_CREDENTIALS, [after, last, userId]);
      if (deleted > 0) yield deleted;
    }
    // A grant that was inserted meanwhile is left, with its credentials, to the next call.
    yield* deleteRows('gatehouse_grants', ['id'], 'user_id = ? and revoked_at is not null', userId);
  }

  async function* eraseFromApps(userId: string): AsyncGenerator<number> {
    for (const sql of ['gatehouse_clients', 'gatehouse_client_names'].map(
      (table) => `update ${table} set owner_id = ? where owner_id = ?`,
    )) {
      const changed = await database.run(sql, [ERASED_USER, userId]);
      if (changed > 0) yield changed;
    }
    for await (const page of pagesOf('gatehouse_clients')) {
      const changed = await database.run(ERASE_DISABLED_BY, [ERASED_USER, ...page, userId]);
      if (changed > 0) yield changed;
    }
    for (const { name, renamed, user } of RENAMED)
      for await (const page of pagesOf(name)) {
        // A row of the user is left as it is until it is deleted.
        const sql = `update ${name} set ${renamed} = ? where id > ? and id <= ? and ${renamed} = ? and ${user} <> ?`;
        const changed = await database.run(sql, [ERASED_USER, ...page, userId, userId]);
        if (changed > 0) yield changed;
      }
    // Where this user alone had consented, nobody has consented any more.
    for (const sql of EMPTIED) {
      const changed = await database.run(sql, [userId]);
      if (changed > 0) yield changed;
    }
  }

  return {
    async sessions(userId, { limit, now: at }) {
      if (!isStorable(userId)) return [];
      return (await database.all<SessionRow>(LIVE_SESSIONS, [userId, at, limit])).map(toSession);
    },
    async read(userId, onPage) {
      if (!isStorable(userId)) return;
      const sessions = await database.all<SessionRow>(SESSIONS, [userId]);
      onPage({ kind: 'sessions', rows: sessions.map(toSession) });
      for (let after = ''; ;) {
        const rows: readonly Grant[] = (await database.all<Row>(GRANTS_OF_USER, [userId, after])).map(
          GRANTS.read,
        );
        if (rows.length === 0) break;
        onPage({ kind: 'grants', rows });
        after = rows.at(-1)!.id;
      }
      for await (const rows of readAudit(userId)) onPage({ kind: 'audit', rows: rows.map(toRecord) });
    },
    async erase(userId, onBatch) {
      if (!isStorable(userId)) return;
      for await (const rows of eraseRows(userId)) if (!onBatch(rows)) return;
    },
  };

  async function* eraseRows(userId: string): AsyncGenerator<number> {
    for (const { name, key = ['id'], user, whenErased } of TABLES)
      if (user !== undefined && user !== 'by hand')
        yield* deleteRows(name, key, `${user} = ?${whenErased ? ` and ${whenErased}` : ''}`, userId);
    yield* deleteGrants(userId);
    yield* eraseFromApps(userId);
    yield* eraseAudit(userId);
  }
}

interface SessionRow {
  readonly id: string;
  readonly payload: string;
  readonly expires_at: Integer;
  readonly origin: string | null;
  readonly last_used_at: Integer;
}

function toSession(row: SessionRow): UserSession {
  return {
    id: row.id,
    createdAt: Number(toPayload(row.payload)['iat'] ?? 0),
    expiresAt: Number(row.expires_at),
    lastUsedAt: Number(row.last_used_at),
    origin: row.origin === null ? undefined : (JSON.parse(row.origin) as GrantOrigin),
  };
}

const SESSIONS =
  'select id, payload, expires_at, origin, last_used_at from gatehouse_sessions s where s.user_id = ?';
const LIVE_SESSIONS = `${SESSIONS} and ${SESSION_IS_LIVE} order by s.last_used_at desc, s.id limit ?`;

const GRANTS_OF_USER = `
  select ${GRANTS.columns} from gatehouse_grants where user_id = ? and id > ? order by id limit 500`;

const SOME_GRANT = 'select 1 as found from gatehouse_grants where user_id = ? limit 1';
const DELETE_CREDENTIALS = `
  delete from gatehouse_credentials where id > ? and id <= ?
    and grant_id in (select g.id from gatehouse_grants g where g.user_id = ?)`;

const ERASE_DISABLED_BY = `update gatehouse_clients set disabled_by = ? where id > ? and id <= ? and disabled_by = ?`;
const RENAMED = TABLES.filter(({ renamed }) => renamed !== undefined);
const EMPTIED = TABLES.flatMap(({ emptied, name }) =>
  emptied === undefined ? [] : [`update ${name} set ${emptied} = null where ${emptied} = ?`],
);

// The actor is in the payload only. `replace()` looks for it, because the databases have different functions that search a text.
const AUDIT_OF_USER = `
  select id, at, type, client_id, user_id, payload from gatehouse_audit
  where id > ? and id <= ? and (user_id = ? or replace(payload, ?, '') <> payload)`;

function actorIn(userId: string): string {
  return JSON.stringify({ actorId: userId }).slice(1, -1);
}

async function eraseRecord(statements: Statements, row: AuditRow, userId: string): Promise<void> {
  const record: AuditRecord = toRecord(row);
  const {
    id,
    at: _at,
    type: _type,
    clientId: _client,
    userId: of,
    ...payload
  } = {
    clientId: undefined,
    userId: undefined,
    ...withoutUser(record, userId, FEATURE_EVENTS),
  };
  const values: Value[] = [of ?? null, JSON.stringify(payload), id];
  await statements.run('update gatehouse_audit set user_id = ?, payload = ? where id = ?', values);
}
