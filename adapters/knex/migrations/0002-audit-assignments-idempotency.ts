import { addColumns, createTable } from '../table.ts';
import type { Migration, Table } from '../table.ts';

/** Audit records, role assignments, idempotent requests, and the time of the last use of a consent. */
export const auditAssignmentsIdempotency: Migration = {
  name: '0002_audit_assignments_idempotency',
  up: (dialect) => [
    ...TABLES.flatMap((table) => createTable(dialect, table)),
    ...addColumns(dialect, 'gatehouse_consents', { last_used_at: 'integer' }),
  ],
};

const TABLES: readonly Table[] = [
  {
    name: 'gatehouse_audit',
    columns: {
      id: 'id',
      // In milliseconds.
      at: 'integer',
      type: 'id',
      client_id: 'id?',
      user_id: 'id?',
      // The members of the record that have no column of their own.
      payload: 'text',
      expires_at: 'integer',
    },
    // In the order of a page, so that only the rows of the page are read, not all matching rows. The longest of these keys has
    // 3068 bytes, and MySQL allows 3072.
    indexes: [
      ['at', 'id'],
      ['type', 'at', 'id'],
      ['client_id', 'at', 'id'],
      ['client_id', 'type', 'at', 'id'],
      ['user_id', 'at', 'id'],
      ['expires_at'],
    ],
  },
  {
    name: 'gatehouse_assignments',
    columns: { user_id: 'id', roles: 'text', permissions: 'text' },
    key: ['user_id'],
  },
  {
    name: 'gatehouse_idempotency',
    columns: {
      id: 'id',
      fingerprint: 'id',
      attempt: 'id',
      leased_until: 'integer',
      expires_at: 'integer',
      // Null until the request is finished.
      status: 'integer?',
      body: 'text?',
    },
    indexes: [['expires_at']],
  },
];
