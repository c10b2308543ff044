import { randomUUID } from 'node:crypto';

import { now } from '../../contracts/clock.ts';
import type {
  Client,
  End,
  EndedBy,
  EndKind,
  EndStore,
  Seconds,
  StoredChange,
  WrittenEnd,
} from '../../contracts/index.ts';
import { inList, integer, mapRows, optional, text } from '../rows.ts';
import type { Row } from '../rows.ts';
import type { Statements } from '../statements.ts';
import type { Database } from '../database.ts';
import type { Condition } from '../dialect.ts';
import { CORE_TABLES } from '../tables.ts';

/** The ends that this process writes. */
export interface WrittenEnds {
  /** Calls the listeners. Call it after the transaction. */
  emit(this: void, kind: WrittenEnd['kind'], change?: StoredChange): void;
  /** Whether this process has a reader of a kind. Other processes may have others. */
  hasReader(this: void, kind: EndKind): boolean;
}

/** The outbox of ends. */
export function endStore(database: Database): { readonly store: EndStore; readonly written: WrittenEnds } {
  const listeners = new Set<(written: WrittenEnd) => void>();
  const kindsRead = new Set<EndKind>();
  const { dialect } = database;
  const register = `insert into gatehouse_end_readers (kind, name, until) values (?, ?, ?)
    ${dialect.onConflict({ table: 'gatehouse_end_readers', key: ['kind', 'name'], replace: ['until'] })}`;
  // Reads the index in this order even where few ends are due, because few ends are not due yet.
  const findDue = `
    select id from gatehouse_ends${dialect.indexHint('gatehouse_ends_reader_sequence_due_at')}
    where reader = ? and due_at <= ? order by sequence limit ?`;
  return {
    written: {
      emit(kind, change) {
        for (const listener of listeners) listener({ kind, change });
      },
      hasReader: (kind) => kindsRead.has(kind),
    },
    store: {
      async read(reader, kinds, until) {
        for (const kind of kinds) kindsRead.add(kind);
        await database.transaction(async (statements) => {
          for (const kind of kinds) await statements.run(register, [kind, reader, until]);
        });
      },
      async take(reader, { leasedUntil, limit, now: at }) {
        for (;;) {
          const due = await database.all<{ id: string }>(findDue, [reader, at, limit]);
          if (due.length === 0) return [];
          const attempt = randomUUID();
          const { placeholders, values } = inList(due.map(({ id }) => id));
          const taken = await database.run(
            `update gatehouse_ends set attempt = ?, due_at = ? where id in ${placeholders} and due_at <= ?`,
            [attempt, leasedUntil, ...values, at],
          );
          // Another node was faster: look further.
          if (taken === 0) continue;
          const rows = await database.all<Row>(
            `select ${ENDS.columns} from gatehouse_ends where id in ${placeholders} and attempt = ? order by sequence`,
            [...values, attempt],
          );
          return rows.map(ENDS.read);
        }
      },
      async done(ends) {
        if (ends.length > 0) await endsDone(database, ends);
      },
      async release(ends, dueAt) {
        if (ends.length === 0) return;
        const ids = inList(ends.map(({ id }) => id));
        const own = inList([...new Set(ends.map(({ attempt }) => attempt))]);
        await database.run(
          `update gatehouse_ends set due_at = ?, attempt = null where id in ${ids.placeholders} and attempt in ${own.placeholders}`,
          [dueAt, ...ids.values, ...own.values],
        );
      },
      onWritten(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
  };
}

/** Removes ends that their readers have taken. */
export async function endsDone(
  statements: Pick<Statements, 'run'>,
  ends: readonly Pick<End, 'id'>[],
): Promise<void> {
  const { placeholders, values } = inList(ends.map(({ id }) => id));
  await statements.run(`delete from gatehouse_ends where id in ${placeholders}`, values);
}

const ENDS = mapRows<End>(CORE_TABLES.ends, {
  id: text('id'),
  kind: text('kind'),
  value: text('value'),
  userId: optional(text('user_id')),
  clientId: optional(text('client_id')),
  sessionUid: optional(text('session_uid')),
  by: text('ended_by'),
  at: integer('ended_at'),
  attempt: text('attempt'),
});

const INTO = `insert into gatehouse_ends
  (id, reader, kind, value, user_id, client_id, session_uid, ended_by, ended_at, due_at)`;

// The first value is a random id: a grant may end twice, by its client and then by its user.
const ID = "concat(cast(? as char(36)), ' ', r.name)";

const OF_READERS = 'from gatehouse_end_readers r';
const IS_READ = 'r.kind = ? and r.until > ?';

/** Stores the end of one thing for each of its readers; runs inside the transaction that ends it. */
export async function writeEnd(
  statements: Statements,
  { by = 'owner', clientId, kind, sessionUid, userId, value }: Pick<End, 'kind' | 'value'> & Partial<End>,
): Promise<void> {
  const at = now();
  await statements.run(
    `${INTO} select ${ID}, r.name, r.kind, ?, ?, ?, ?, ?, ?, ? ${OF_READERS} where ${IS_READ}`,
    [randomUUID(), value, userId ?? null, clientId ?? null, sessionUid ?? null, by, at, at, kind, at],
  );
}

/**
 * Stores that a client is about to be disabled or enabled again. Runs inside the transaction that changes the client, before the change.
 */
export async function writeAdmission(
  statements: Statements,
  { disabled, id }: Pick<Client, 'disabled' | 'id'>,
  ifUpdatedAt: Seconds | undefined,
): Promise<void> {
  const at = now();
  const ifSame = ifUpdatedAt === undefined ? [] : [ifUpdatedAt];
  await statements.run(
    `${INTO} select ${ID}, r.name, r.kind, c.id, null, c.id, null, 'owner', ?, ?
     ${OF_READERS} join gatehouse_clients c on c.id = ? and c.disabled <> ?${ifSame.map(() => ' and c.updated_at = ?').join('')}
     where ${IS_READ}`,
    [randomUUID(), at, at, id, Number(disabled), ...ifSame, ADMISSION, at],
  );
}

const ADMISSION: EndKind = 'admission';

/**
 * Stores the ends of the grants that meet a condition, or of the sign-ins by these grants, one for each client. Runs inside the
 * transaction that ends them.
 */
export async function writeEndsOfGrants(
  statements: Statements,
  { sql, values }: Condition,
  { at = now(), by, kind }: GrantEnds,
): Promise<void> {
  const grants =
    kind === 'grant'
      ? `select id, user_id, client_id, session_uid from gatehouse_grants where ${sql}`
      : `select min(id) as id, user_id, client_id, session_uid from gatehouse_grants where ${sql} group by user_id, client_id, session_uid`;
  await statements.run(
    `${INTO} select concat(${ID}, ' ', g.id), r.name, r.kind, g.id, g.user_id, g.client_id, g.session_uid, ?, ?, ?
     ${OF_READERS} cross join (${grants}) g where ${IS_READ}`,
    [randomUUID(), by, at, at, ...values, kind, at],
  );
}

export interface GrantEnds {
  readonly kind: 'grant' | 'sign_in';
  readonly by: EndedBy;
  readonly at?: Seconds | undefined;
}
