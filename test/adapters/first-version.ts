import type { Knex } from 'knex';

import type { Dialect } from '../../adapters/knex/dialect.ts';
import { mysqlDialect } from '../../adapters/knex/dialects/mysql.ts';
import { postgresqlDialect } from '../../adapters/knex/dialects/postgresql.ts';
import { sqliteDialect } from '../../adapters/knex/dialects/sqlite.ts';
import { firstTables } from '../../adapters/knex/migrations/0001-first-tables.ts';
import { createTable } from '../../adapters/knex/table.ts';
import { NOW } from '../../lib/testing/storage/rows.ts';
import type { TestDatabase } from './databases.ts';

/** Creates the tables of the first version of the schema, each with a row. */
export async function makeFirstVersion(database: Knex, { client }: TestDatabase): Promise<void> {
  const dialect = dialectFor(client, database);
  const migrations = {
    name: 'gatehouse_migrations',
    columns: { name: 'id', applied_at: 'integer' },
    key: ['name'],
  } as const;
  for (const sql of [...createTable(dialect, migrations), ...firstTables.up(dialect)])
    await database.raw(sql);
  for (const [title, row] of Object.entries(ROWS))
    await database(`gatehouse_${title.split(' ')[0]}`).insert(row);
}

/** The storage's dialect for a database. */
export function dialectFor(client: TestDatabase['client'], { client: knexClient }: Knex): Dialect {
  if (client === 'pg') return postgresqlDialect(knexClient);
  return client === 'mysql2' ? mysqlDialect(knexClient) : sqliteDialect();
}

// By table. Written out, because databases of hosts contain such rows.
const ROWS = {
  migrations: { name: '0001_first_tables', applied_at: NOW },
  clients: {
    id: '6f1c1d5e-4c8e-4f57-9a3b-0f6f3f0b6f11',
    name: 'Timetable',
    sort_name: 'timetable',
    grant_type: 'authorization_code',
    redirect_uris: '["https://timetable.example/callback","https://timetable.example/?a=1&b=%20"]',
    confidential: 1,
    native: 0,
    first_party: 0,
    scopes: null,
    roles: '[]',
    permissions: '[]',
    owner_id: null,
    disabled: 0,
    created_at: NOW,
    updated_at: NOW,
  },
  client_secrets: {
    client_id: '6f1c1d5e-4c8e-4f57-9a3b-0f6f3f0b6f11',
    id: 'secret-1',
    hash: 'K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols',
    label: 'production, May',
    hint: 'x4f2',
    created_at: NOW,
    expires_at: null,
    last_used_at: null,
  },
  consents: {
    user_id: 'ann',
    client_id: 'timetable',
    scopes: '["schools:read"]',
    created_at: NOW,
    updated_at: NOW,
  },
  grants: {
    id: 'grant-1',
    user_id: 'ann',
    client_id: 'timetable',
    scopes: '["schools:read","schools:write"]',
    created_at: NOW,
    expires_at: NOW + 24 * 3600,
    revoked_at: null,
    needed_until: NOW + 24 * 3600,
  },
  credentials: {
    id: 'code-1',
    kind: 'code',
    grant_id: 'grant-1',
    payload: '{"redirectUri":"https://timetable.example/callback","nested":{"list":[1,"ü",null]}}',
    expires_at: NOW + 60,
    consumed_at: null,
    sealed_successor: null,
  },
  sessions: {
    id: 'session-1',
    uid: 'uid-1',
    user_id: 'ann',
    payload: `{"loginTs":${NOW}}`,
    expires_at: NOW + 3600,
  },
  // A session before the login.
  'sessions anonymous': {
    id: 'anonymous',
    uid: 'uid-2',
    user_id: null,
    payload: '{}',
    expires_at: NOW + 3600,
  },
  interactions: { id: 'interaction-1', payload: '{}', expires_at: NOW + 3600 },
  revocations: { kind: 'client', value: 'revoked', revoked_at: NOW - 5, expires_at: NOW + 3600 },
  'revocations of a token': { kind: 'token', value: 'jti-1', revoked_at: NOW, expires_at: NOW + 3600 },
  'revocations of a grant': { kind: 'grant', value: 'grant-0', revoked_at: NOW, expires_at: NOW + 3600 },
  'grants at the revoked client': {
    id: 'grant-2',
    user_id: 'ann',
    client_id: 'revoked',
    scopes: '[]',
    created_at: NOW,
    expires_at: NOW + 3600,
    revoked_at: null,
    needed_until: NOW + 3600,
  },
};
