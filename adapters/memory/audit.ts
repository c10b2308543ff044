import type { AuditQuery, AuditRecord, AuditStore, Milliseconds } from '../../lib/contracts/index.ts';
import { copy } from './tables.ts';
import type { Tables } from './tables.ts';

/** Audit records. */
export function auditStore({ audit }: Tables): AuditStore {
  return {
    async append(records, expiresAt) {
      for (const record of records) {
        // As a database returns it: without members that are undefined.
        const stored: AuditRecord = JSON.parse(JSON.stringify(record));
        if (!audit.has(record.id)) audit.set(record.id, { record: stored, expiresAt });
      }
    },
    async list(query) {
      return [...audit.values()]
        .map(({ record }) => record)
        .filter((record) => matches(record, query))
        .toSorted(newestFirst)
        .slice(0, query.limit ?? 50)
        .map(copy);
    },
    async countByDay({ clientId, most, since, type }) {
      const counts = new Map<number, number>();
      const found = [...audit.values()]
        .map(({ record }) => record)
        .filter((record) => record.at >= since && matches(record, { clientId, types: [type] }))
        .toSorted(newestFirst)
        .slice(0, most);
      for (const { at } of found) {
        const day = at - (at % DAY);
        counts.set(day, (counts.get(day) ?? 0) + 1);
      }
      return [...counts].map(([day, count]) => ({ day, count }));
    },
  };
}

const DAY: Milliseconds = 24 * 60 * 60 * 1000;

function matches(record: AuditRecord, { clientId, userId, types, before }: AuditQuery): boolean {
  return (
    (clientId === undefined || ('clientId' in record && record.clientId === clientId)) &&
    (userId === undefined || ('userId' in record && record.userId === userId)) &&
    (types?.includes(record.type) ?? true) &&
    (before === undefined || newestFirst(before, record) < 0)
  );
}

function newestFirst(a: Pick<AuditRecord, 'id' | 'at'>, b: Pick<AuditRecord, 'id' | 'at'>): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.id === b.id) return 0;
  return a.id > b.id ? -1 : 1;
}
