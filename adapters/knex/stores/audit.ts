import type { AuditQuery, AuditRecord, AuditStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Value } from '../statements.ts';
import { inList, isPossible, toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';

// Of an insert, a power of two: with its seven values each, far below the 32766 that SQLite takes.
const ROWS = 256;

/** What happened. */
export function auditStore(database: Database): AuditStore {
  const conflict = database.dialect.onConflict({ table: 'gatehouse_audit', key: ['id'] });

  function insertStatement(rows: readonly Row[]): {
    readonly sql: string;
    readonly values: readonly Value[];
  } {
    // Statements are kept by their text, so there must be few of them. What is there by then stays as it is.
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
      // In one order for all, so that those who append the same records do not wait for each other crosswise.
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
      if (!isAnswerable(query)) return [];
      const { sql, values } = listStatement(query);
      return (await database.all<AuditRow>(sql, values)).map(toRecord);
    },
  };
}

const COLUMNS = ['id', 'at', 'type', 'client_id', 'user_id', 'payload', 'expires_at'];

const PAYLOAD = COLUMNS.indexOf('payload');

/** The values of {@link COLUMNS}. */
type Row = readonly Value[];

interface FieldsWithColumns extends Pick<AuditRecord, 'id' | 'at' | 'type'> {
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

function toRow(record: AuditRecord, expiresAt: number): Row {
  const { id, at, type, clientId, userId, ...payload }: FieldsWithColumns = record;
  return [id, at, type, clientId ?? null, userId ?? null, JSON.stringify(payload), expiresAt];
}

function byId(a: AuditRecord, b: AuditRecord): number {
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}

/** Whether anything can match at all. */
function isAnswerable({ clientId, userId, types, before }: AuditQuery): boolean {
  const asked = [clientId, userId, before?.id].filter((value) => value !== undefined);
  return types?.length !== 0 && asked.every(isPossible) && Number.isSafeInteger(before?.at ?? 0);
}

interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

function listStatement(query: AuditQuery): Condition {
  const { before, limit = 50 } = query;
  // Twice, because an `or` alone does not lead the databases to where the page begins.
  const onPage = before ? 'and at <= ? and (at < ? or id < ?)' : '';
  const pageValues = before ? [before.at, before.at, before.id] : [];
  const [first, ...others] = toConditions(query).map(({ sql, values }) => ({
    sql: `from gatehouse_audit where ${sql} ${onPage} ${NEWEST}`,
    values: [...values, ...pageValues, limit],
  }));
  if (others.length === 0) return { sql: `select ${RECORD} ${first!.sql}`, values: first!.values };
  const selections = [first!, ...others];
  // Of each as much as the page may need, and all of that out of indexes.
  const found = selections.map(({ sql }, index) => `select * from (select at, id ${sql}) of_type_${index}`);
  return {
    sql: `select ${RECORD} from gatehouse_audit
      where id in (select id from (${found.join(' union all ')} ${NEWEST}) found) order by at desc, id desc`,
    values: [...selections.flatMap(({ values }) => values), limit],
  };
}

const RECORD = 'id, at, type, client_id, user_id, payload';

const NEWEST = 'order by at desc, id desc limit ?';

/** What the records of a list have in common, each of them in the order of an index. */
function toConditions({ clientId, userId, types }: AuditQuery): readonly Condition[] {
  if (userId !== undefined) return [ofUser(userId, { clientId, types })];
  const ofClient = clientId === undefined ? [] : [{ sql: 'client_id = ?', values: [clientId] }];
  if (!types) return ofClient.length > 0 ? ofClient : [{ sql: '1 = 1', values: [] }];
  // One by one: those of a rare type are not looked for among all the others.
  return [...new Set(types)].map((type) => ({
    sql: [...ofClient.map(({ sql }) => sql), 'type = ?'].join(' and '),
    values: [...ofClient.flatMap(({ values }) => values), type],
  }));
}

/** Of one user there are few, so the databases are kept from going along any other index. */
function ofUser(userId: string, { clientId, types }: Pick<AuditQuery, 'clientId' | 'types'>): Condition {
  const asked = types && inList(types);
  return {
    sql: [
      'user_id = ?',
      ...(clientId === undefined ? [] : [`coalesce(client_id, '') = ?`]),
      ...(asked ? [`coalesce(type, '') in ${asked.placeholders}`] : []),
    ].join(' and '),
    values: [userId, ...(clientId === undefined ? [] : [clientId]), ...(asked?.values ?? [])],
  };
}

interface AuditRow {
  readonly id: string;
  readonly at: Integer;
  readonly type: AuditRecord['type'];
  readonly client_id: string | null;
  readonly user_id: string | null;
  readonly payload: string;
}

function toRecord(row: AuditRow): AuditRecord {
  const record: unknown = {
    id: row.id,
    at: Number(row.at),
    type: row.type,
    ...(row.client_id === null ? {} : { clientId: row.client_id }),
    ...(row.user_id === null ? {} : { userId: row.user_id }),
    ...toPayload(row.payload),
  };
  return record as AuditRecord;
}
