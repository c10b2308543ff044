import type { Seconds } from '../contracts/index.ts';
import { inList, integer, optional, text } from '../database/rows.ts';
import type { Database } from '../database/database.ts';
import type { Column, Row, RowMapping } from '../database/rows.ts';
import type { Value } from '../database/statements.ts';
import type { Delivery, DeliveryStore, LeftOut, Taken } from './deliveries.ts';

/** A table of deliveries, which has {@link DELIVERY_COLUMNS} and indexes that begin with `due_at` and with the receiver. */
export interface DeliveryTable<D extends Delivery> {
  readonly name: string;
  readonly rows: RowMapping<D>;
  /** The column with the id of the receiver. */
  readonly receiver: string;
  /**
   * The table of the receivers, whose key is `id`, and its column with the URI at which a receiver is told. The URI is null when it is
   * not told.
   */
  readonly receivers: { readonly table: string; readonly uri: string };
}

/** How the members of a {@link Delivery} are stored. */
export const DELIVERY_MEMBERS: { readonly [M in keyof Delivery]-?: Column<Delivery[M]> } = {
  id: text('id'),
  createdAt: integer('created_at'),
  ownerId: optional(text('owner_id')),
  dueAt: optional(integer('due_at')),
  attempts: integer('attempts'),
  attempt: optional(text('attempt')),
  answeredAt: optional(integer('answered_at')),
  error: optional(text('error')),
  expiresAt: integer('expires_at'),
};

// Rows of one statement, a power of two, see inList().
const BATCH = 256;

/** The deliveries of a table. */
export function deliveryStore<D extends Delivery>(
  database: Database,
  table: DeliveryTable<D>,
): DeliveryStore<D> {
  const { name, receiver, receivers, rows } = table;
  const taken = rows.of('l');
  const listDue = createListDue(table);
  return {
    async listDue(page) {
      const found = await database.all<DueRow>(...listDue(page));
      // Another node may have taken a delivery meanwhile.
      return found.flatMap(({ id, owner_id: ownerId, receiver_id: receiverId, uri }) =>
        id === null ? [] : [{ id, receiverId, ownerId: ownerId || undefined, uri: uri ?? undefined }],
      );
    },
    async take(attempt, ids, { leasedUntil, now }) {
      if (ids.length === 0) return [];
      const { placeholders, values } = inList(ids);
      const count = await database.run(
        `update ${name} set attempt = ?, due_at = ? where id in ${placeholders} and due_at <= ?`,
        [attempt, leasedUntil, ...values, now],
      );
      // Another node was faster.
      if (count === 0) return [];
      const found = await database.all<TakenRow>(
        `select ${taken.columns}, c.${receivers.uri} as uri
         from ${name} l left join ${receivers.table} c on c.id = l.${receiver}
         where l.id in ${placeholders} and l.attempt = ?`,
        [...values, attempt],
      );
      return found.map((row): Taken<D> => Object.assign(taken.read(row), { uri: row.uri ?? undefined }));
    },
    async finish(attempts, { answeredAt, dueAt, error }) {
      for (let start = 0; start < attempts.length; start += BATCH) {
        const batch = attempts.slice(start, start + BATCH);
        const ids = inList(batch.map(({ id }) => id));
        const own = inList([...new Set(batch.map(({ attempt }) => attempt ?? ''))]);
        await database.run(
          `update ${name} set answered_at = ?, due_at = ?, error = ?, attempts = attempts + 1, attempt = null
           where id in ${ids.placeholders} and attempt in ${own.placeholders}`,
          [answeredAt ?? null, dueAt ?? null, error ?? null, ...ids.values, ...own.values],
        );
      }
    },
  };
}

interface DueRow extends Row {
  /** Null when another node has taken it since. */
  readonly id: string | null;
  readonly receiver_id: string;
  /** Empty when there is no owner. */
  readonly owner_id: string;
  readonly uri: string | null;
}

interface TakenRow extends Row {
  readonly uri: string | null;
}

// The rows are grouped, because a receiver or an owner may have any number of deliveries. The query reads this many times the rows that
// it lists: some of the oldest get a place, or are left out the next time.
const FURTHER = 4;
const OWNER = "coalesce(owner_id, '')";

interface DuePage {
  readonly except: LeftOut;
  readonly limit: number;
  readonly now: Seconds;
}

function createListDue({
  name,
  receiver,
  receivers,
}: Pick<DeliveryTable<Delivery>, 'name' | 'receiver' | 'receivers'>): (
  page: DuePage,
) => [sql: string, values: readonly Value[]] {
  return ({ except: { owned, ownerIds, receiverIds }, limit, now }) => {
    const conditions = [
      { column: receiver, ids: receiverIds },
      { column: OWNER, ids: ownerIds },
    ].flatMap(({ column, ids }) => {
      if (ids.length === 0) return [];
      const { placeholders, values } = inList(ids);
      return [{ sql: ` and ${column} not in ${placeholders}`, values }];
    });
    return [
      `select d.receiver_id, d.owner_id, c.${receivers.uri} as uri,
         (select l.id from ${name} l
          where l.${receiver} = d.receiver_id and l.due_at = coalesce(d.first_at, d.next_at)
            and coalesce(l.owner_id, '') = d.owner_id and (d.first_at is null or l.attempts = 0) limit 1) as id
       from (
         select ${receiver} as receiver_id, ${OWNER} as owner_id, min(case when attempts = 0 then due_at end) as first_at, min(due_at) as next_at
         from (
           select ${receiver}, owner_id, attempts, due_at from ${name}
           where due_at <= ?${owned ? ' and owner_id is null' : ''}${conditions.map(({ sql }) => sql).join('')}
           order by due_at limit ?
         ) l
         group by ${receiver}, ${OWNER}
         order by case when ${OWNER} = '' then 0 else 1 end, case when min(attempts) = 0 then 0 else 1 end,
           coalesce(min(case when attempts = 0 then due_at end), min(due_at)) limit ?
       ) d left join ${receivers.table} c on c.id = d.receiver_id
       order by case when d.owner_id = '' then 0 else 1 end, case when d.first_at is null then 1 else 0 end,
         coalesce(d.first_at, d.next_at)`,
      [now, ...conditions.flatMap(({ values }) => values), limit * FURTHER, limit],
    ];
  };
}
