import type { AuditQuery, AuditRecord, AuditStore } from '../../lib/contracts/index.ts';
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
  };
}

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
