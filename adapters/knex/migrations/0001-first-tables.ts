import { createTable } from '../table.ts';
import type { Migration, Table } from '../table.ts';

/**
 * The tables of the first version.
 *
 * Times are seconds since 1970; lists and payloads are JSON. There are no foreign keys: the rows of a grant expire at
 * different times, so pruning would check references at every row, and no row is read without its parent.
 */
export const firstTables: Migration = {
  name: '0001_first_tables',
  up: (dialect) => TABLES.flatMap((table) => createTable(dialect, table)),
};

const TABLES: readonly Table[] = [
  {
    name: 'gatehouse_clients',
    columns: {
      id: 'id',
      name: 'id',
      // The name in lower case by JavaScript's rules, because those of the databases differ.
      sort_name: 'id',
      grant_type: 'id',
      redirect_uris: 'text',
      confidential: 'flag',
      native: 'flag',
      first_party: 'flag',
      scopes: 'text?',
      roles: 'text',
      permissions: 'text',
      owner_id: 'id?',
      disabled: 'flag',
      created_at: 'integer',
      updated_at: 'integer',
    },
    indexes: [['sort_name'], ['owner_id']],
  },
  {
    name: 'gatehouse_client_secrets',
    columns: {
      client_id: 'id',
      id: 'id',
      hash: 'id',
      label: 'text',
      hint: 'id',
      created_at: 'integer',
      expires_at: 'integer?',
      last_used_at: 'integer?',
    },
    key: ['client_id', 'id'],
  },
  {
    name: 'gatehouse_consents',
    columns: { user_id: 'id', client_id: 'id', scopes: 'text', created_at: 'integer', updated_at: 'integer' },
    key: ['user_id', 'client_id'],
    indexes: [['client_id']],
  },
  {
    name: 'gatehouse_grants',
    columns: {
      id: 'id',
      user_id: 'id',
      client_id: 'id',
      scopes: 'text',
      created_at: 'integer',
      expires_at: 'integer',
      revoked_at: 'integer?',
      // When the grant and all credentials that were issued from it have expired.
      needed_until: 'integer',
    },
    // With `revoked_at`, so that each batch of a revocation finds the remaining grants without reading the revoked ones.
    indexes: [['user_id', 'revoked_at', 'client_id'], ['client_id', 'revoked_at'], ['needed_until']],
  },
  {
    name: 'gatehouse_credentials',
    columns: {
      id: 'id',
      kind: 'id',
      grant_id: 'id',
      payload: 'text',
      expires_at: 'integer',
      consumed_at: 'integer?',
      sealed_successor: 'text?',
    },
    key: ['id', 'kind'],
    indexes: [['expires_at']],
  },
  {
    name: 'gatehouse_revocations',
    columns: { kind: 'id', value: 'id', revoked_at: 'integer', expires_at: 'integer' },
    key: ['kind', 'value'],
    indexes: [['revoked_at'], ['expires_at']],
  },
  {
    name: 'gatehouse_sessions',
    columns: { id: 'id', uid: 'id', user_id: 'id?', payload: 'text', expires_at: 'integer' },
    indexes: [['uid'], ['user_id'], ['expires_at']],
  },
  {
    name: 'gatehouse_interactions',
    columns: { id: 'id', payload: 'text', expires_at: 'integer' },
    indexes: [['expires_at']],
  },
  {
    name: 'gatehouse_keys',
    columns: {
      id: 'id',
      // `use` is a reserved word in MySQL.
      purpose: 'id',
      generation: 'integer',
      material: 'text',
      created_at: 'integer',
      active_at: 'integer',
      retires_at: 'integer?',
    },
    unique: [['purpose', 'generation']],
  },
];
