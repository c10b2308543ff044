import { toMilliseconds, toSeconds } from '../../contracts/duration.ts';
import type { AuditQuery, AuditRecord, AuditStore, Seconds } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Value } from '../statements.ts';
import { isStorable, toPayload } from '../rows.ts';
import type { Integer } from '../rows.ts';

// Rows of one insert, a power of two. With seven values each, they are far below the 32766 values that SQLite allows.
const ROWS = 256;

/** Audit records. */
export function auditStore(database: Database): AuditStore {
  const conflict = database.dialect.onConflict({ table: 'gatehouse_audit', key: ['id'] });

  function insertStatement(rows: readonly AuditValues[]): {
    readonly sql: string;
    readonly values: readonly Value[];
  } {
    // Padded to a power of two with copies of the first row, which `onConflict` ignores: prepared statements are cached by
    // their text, so there must be few of them.
    const length = 2 ** Math.ceil(Math.log2(rows.length));
    const filler = rows[0]!.with(PAYLOAD, '{}');
    const padded = Array.from({ length }, (_, index) => rows[index] ?? filler);
    const places = padded.map(() => '(?, ?, ?, ?, ?, ?, ?)').join(', ');
    return {
      sql: `insert into gatehouse_audit (${COLUMNS.join(', ')}) values ${places} ${conflict}`,
      values: padded.flat(),
    };
  }

  return {
    async append(records, expiresAt) {
      // Sorted, so that nodes that append the same records lock them in the same order and cannot deadlock.
      const rows = records.toSorted(byId).map((record) => toRow(record, expiresAt));
      const inserts = Array.from({ length: Math.ceil(rows.length / ROWS) }, (_, index) =>
        insertStatement(rows.slice(index * ROWS, (index + 1) * ROWS)),
      );
      const [first] = inserts;
      if (inserts.length > 1) {
        await database.transaction(async (statements) => {
          for (const { sql, values } of inserts) await statements.run(sql, values);
        });
      } else if (first) {
        await database.run(first.sql, first.values);
      }
    },
    async list(query) {
      if (!canMatch(query)) return [];
      const { sql, values } = listStatement(query);
      return (await database.all<AuditRow>(sql, values)).map(toRecord);
    },
    async countByDay({ clientId, most, since, type }) {
      if (!isStorable(clientId)) return [];
      const rows = await database.all<DayRow>(COUNT_BY_DAY, [clientId, type, toMilliseconds(since), most]);
      return rows.map(({ count, day }) => ({ day: toSeconds(Number(day)), count: Number(count) }));
    },
  };
}

const COLUMNS = ['id', 'at', 'type', 'client_id', 'user_id', 'payload', 'expires_at'];

const PAYLOAD = COLUMNS.indexOf('payload');

/** The values of {@link COLUMNS}. */
type AuditValues = readonly Value[];

interface FieldsWithColumns extends Pick<AuditRecord, 'id' | 'at' | 'type'> {
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

function toRow(record: AuditRecord, expiresAt: Seconds): AuditValues {
  const { id, at, type, clientId, userId, ...payload }: FieldsWithColumns = record;
  return [id, toMilliseconds(at), type, clientId ?? null, userId ?? null, JSON.stringify(payload), expiresAt];
}

function byId(a: AuditRecord, b: AuditRecord): number {
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}

/** `false` when no record can match, such as for values that no row can have. */
function canMatch({ clientId, userId, types, after }: AuditQuery): boolean {
  const asked = [clientId, userId, after?.id].filter((value) => value !== undefined);
  return (
    types?.length !== 0 && asked.every(isStorable) && Number.isSafeInteger(toMilliseconds(after?.at ?? 0))
  );
}

interface AuditCondition {
  readonly sql: string;
  readonly values: readonly Value[];
}

function listStatement(query: AuditQuery): AuditCondition {
  const { after, limit = 50 } = query;
  // The condition `at <= ?` is redundant: the databases use it, and not the `or`, to find the start of the page in an index.
  const onPage = after ? 'and at <= ? and (at < ? or id < ?)' : '';
  const at = after && toMilliseconds(after.at);
  const pageValues = after ? [at!, at!, after.id] : [];
  const [first, ...others] = toConditions(query).map(({ sql, values }) => ({
    sql: `from gatehouse_audit where ${sql} ${onPage} ${NEWEST}`,
    values: [...values, ...pageValues, limit],
  }));
  if (others.length === 0) return { sql: `select ${RECORD} ${first!.sql}`, values: first!.values };
  const selections = [first!, ...others];
  // At most a page of ids per type, read from indexes alone; then the records of the newest of them.
  const found = selections.map(({ sql }, index) => `select * from (select at, id ${sql}) of_type_${index}`);
  return {
    sql: `select ${RECORD} from gatehouse_audit
      where id in (select id from (${found.join(' union all ')} ${NEWEST}) found) order by at desc, id desc`,
    values: [...selections.flatMap(({ values }) => values), limit],
  };
}

const RECORD = 'id, at, type, client_id, user_id, payload';

const NEWEST = 'order by at desc, id desc limit ?';

/**
 * Conditions whose union is the query, each of them served by an index in the order of a page. One for each type, so that records of
 * a rare type are found in the index and not searched among all others.
 */
function toConditions({ clientId, userId, types }: AuditQuery): readonly AuditCondition[] {
  const of = [
    ...(userId === undefined ? [] : [{ sql: 'user_id = ?', value: userId }]),
    // `coalesce` keeps the databases from using an index of the client, which has records of all its users.
    ...(clientId === undefined
      ? []
      : [{ sql: userId === undefined ? 'client_id = ?' : `coalesce(client_id, '') = ?`, value: clientId }]),
  ];
  const each = types ? [...new Set(types)].map((type) => of.concat({ sql: 'type = ?', value: type })) : [of];
  return each.map((parts) => ({
    sql: parts.map(({ sql }) => sql).join(' and ') || '1 = 1',
    values: parts.map(({ value }) => value),
  }));
}

// Counts the newest records by day; they are read from an index alone. `%` is the remainder of integers in each database.
const COUNT_BY_DAY = `
  select day, count(*) as count from (
    select at - at % 86400000 as day from gatehouse_audit
    where client_id = ? and type = ? and at >= ? order by at desc, id desc limit ?
  ) found group by day order by day desc`;

interface DayRow {
  readonly day: Integer;
  readonly count: Integer;
}

export interface AuditRow {
  readonly id: string;
  readonly at: Integer;
  readonly type: AuditRecord['type'];
  readonly client_id: string | null;
  readonly user_id: string | null;
  readonly payload: string;
}

export function toRecord(row: AuditRow): AuditRecord {
  const record: unknown = {
    id: row.id,
    at: toSeconds(Number(row.at)),
    type: row.type,
    ...(row.client_id === null ? {} : { clientId: row.client_id }),
    ...(row.user_id === null ? {} : { userId: row.user_id }),
    ...toPayload(row.payload),
  };
  return record as AuditRecord;
}
