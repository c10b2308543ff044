import { errorKind } from '../error-kinds.ts';
import type { Statements } from '../statements.ts';
import { addColumns, createIndex, createTable, dropIndex } from '../table.ts';
import type { Migration } from '../table.ts';
import { firstTables } from './0001-first-tables.ts';

/** Every step of the schema, oldest first. */
export const migrations: readonly Migration[] = [
  firstTables,
  {
    // Audit records, role assignments, idempotent requests, and the time of the last use of a consent.
    name: '0002_audit_assignments_idempotency',
    up: (dialect) => [
      ...createTable(dialect, {
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
      }),
      ...createTable(dialect, {
        name: 'gatehouse_assignments',
        columns: { user_id: 'id', roles: 'text', permissions: 'text' },
        key: ['user_id'],
      }),
      ...createTable(dialect, {
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
      }),
      ...addColumns(dialect, 'gatehouse_consents', { last_used_at: 'integer' }),
    ],
  },
  {
    // Counted attempts, such as logins with a wrong password.
    name: '0003_attempts',
    up: (dialect) =>
      createTable(dialect, {
        name: 'gatehouse_attempts',
        columns: { id: 'id', attempts: 'integer', expires_at: 'integer' },
        indexes: [['expires_at']],
      }),
  },
  {
    // The user who disabled a client. It is unknown for clients disabled before, so only an administrator can enable those.
    name: '0004_disabled_by',
    up: (dialect) => addColumns(dialect, 'gatehouse_clients', { disabled_by: 'id' }),
  },
  {
    // The tokens, grants and sessions of a user or a client end by a sequence number instead of a time, in the rows of
    // `gatehouse_revocations`; grants and sessions store the number at their beginning. A client that had been revoked by time is
    // ended with all that was issued to it.
    //
    // `gatehouse_interactions` is not used any more; it stays for nodes of the previous version that run beside this one.
    name: '0005_revocation_sequence',
    up: (dialect) => [
      ...['gatehouse_revocations', 'gatehouse_grants', 'gatehouse_sessions'].flatMap((table) =>
        addColumns(dialect, table, { sequence: 'integer' }),
      ),
      // Concurrent ends wait for the lock of this row: no number is used twice or becomes visible before a smaller one.
      `insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
       values ('sequence', '', 0, ${Number.MAX_SAFE_INTEGER}, 1)
       ${dialect.onConflict({ table: 'gatehouse_revocations', key: ['kind', 'value'] })}`,
      `update gatehouse_revocations set sequence = 1, expires_at = ${Number.MAX_SAFE_INTEGER}
       where kind = 'client' and sequence is null`,
    ],
  },
  {
    // The redirect hosts of a consent. They are unknown for earlier consents, so those users are asked once more.
    name: '0006_consent_hosts',
    up: (dialect) => addColumns(dialect, 'gatehouse_consents', { hosts: 'text' }),
  },
  {
    // Lifetimes of tokens per client. Clients that were registered before have the server's lifetimes.
    //
    // The audit event of a deleted secret is renamed as well.
    name: '0007_client_lifetimes',
    up: (dialect) => [
      ...addColumns(dialect, 'gatehouse_clients', { lifetimes: 'text' }),
      `update gatehouse_audit set type = 'secret_deleted' where type = 'secret_removed'`,
    ],
  },
  {
    // A counter of the transactions that have locked the row. A transaction that relies on the row changes it, because a Galera
    // cluster replicates changes and no locks: only two changes of a row are in conflict on different members.
    name: '0008_row_locks',
    up: (dialect) =>
      ['gatehouse_consents', 'gatehouse_clients'].flatMap((table) =>
        addColumns(dialect, table, { lock_count: 'integer' }),
      ),
  },
  {
    // How a client became known, and its public keys. Clients that were registered before were registered by a person.
    name: '0009_client_registration',
    up: (dialect) => addColumns(dialect, 'gatehouse_clients', { registration: 'id', public_keys: 'text' }),
  },
  {
    // Client assertions that were used (RFC 7523 section 3, `jti`).
    name: '0010_assertions',
    up: (dialect) =>
      createTable(dialect, {
        name: 'gatehouse_assertions',
        columns: { id: 'id', expires_at: 'integer' },
        indexes: [['expires_at']],
      }),
  },
  {
    // The registrations of clients that registered themselves.
    name: '0012_dynamic_registration',
    up: (dialect) =>
      createTable(dialect, {
        name: 'gatehouse_registrations',
        columns: {
          client_id: 'id',
          token_hash: 'id',
          auth_method: 'id',
          removable_at: 'integer',
          unused_after: 'integer',
          lock_count: 'integer',
        },
        key: ['client_id'],
        indexes: [['removable_at']],
      }),
  },
  {
    // Device authorization requests (RFC 8628). The approved ones have a credential of the kind `device_code` too.
    name: '0013_device_codes',
    up: (dialect) =>
      createTable(dialect, {
        name: 'gatehouse_device_codes',
        columns: {
          id: 'id',
          user_code: 'id',
          client_id: 'id',
          payload: 'text',
          created_at: 'integer',
          expires_at: 'integer',
          kept_until: 'integer',
          sequence: 'integer',
          answer: 'id?',
          polled_at: 'integer?',
        },
        unique: [['user_code']],
        indexes: [['kept_until']],
      }),
  },
  {
    // What decides which registration gives way when all places are taken: the network that it was made from, and who has
    // consented, which is nobody (null), one user alone, or several (an empty text).
    name: '0014_registration_claims',
    up: (dialect) => [
      ...addColumns(dialect, 'gatehouse_registrations', { network: 'id', user_id: 'id' }),
      `update gatehouse_registrations set user_id = (
         select case when count(*) = 1 then min(k.user_id) when count(*) > 1 then '' end
         from gatehouse_consents k where k.client_id = gatehouse_registrations.client_id
       ) where user_id is null`,
    ],
  },
  {
    // Consents are found by the user and the client. PostgreSQL may use the index on the client for that, before it has analyzed
    // the table: with the user in it, it leads to the one row, not to all users of the client.
    name: '0015_consent_index',
    up: (dialect) => [
      // In this order, so that there is always one.
      createIndex(dialect, 'gatehouse_consents', ['client_id', 'user_id']),
      dropIndex(dialect, 'gatehouse_consents', ['client_id']),
    ],
  },
  {
    // Lists of clients are read, and names are searched, in the order of an index. `migrate()` fills the table of the names.
    name: '0016_client_names',
    up: (dialect) => [
      createIndex(dialect, 'gatehouse_clients', ['sort_name', 'id']),
      createIndex(dialect, 'gatehouse_clients', ['owner_id', 'sort_name', 'id']),
      // An order of equal names is in the new ones only, and the databases do not always choose those.
      dropIndex(dialect, 'gatehouse_clients', ['sort_name']),
      dropIndex(dialect, 'gatehouse_clients', ['owner_id']),
      ...createTable(dialect, {
        name: 'gatehouse_client_names',
        columns: {
          client_id: 'id',
          // The name from one of its words on, in lower case.
          beginning: 'id',
          owner_id: 'id?',
        },
        key: ['client_id', 'beginning'],
        indexes: [
          ['beginning', 'client_id'],
          ['owner_id', 'beginning', 'client_id'],
        ],
      }),
    ],
  },
  {
    // The refresh token that a credential was redeemed for, so that one read finds the current one of a family. Of credentials that
    // were redeemed before, only the next one is found.
    name: '0017_successor',
    up: (dialect) => addColumns(dialect, 'gatehouse_credentials', { successor_id: 'id' }),
  },
  {
    // Where a grant was authorized, and when it was last used. Both are unknown for grants from before.
    name: '0018_grant_origin',
    up: (dialect) => addColumns(dialect, 'gatehouse_grants', { origin: 'text', last_used_at: 'integer' }),
  },
  {
    // What users see of a client besides its name. The picture is in its row, so that it is deleted with it by nodes of the version
    // before too.
    name: '0019_client_homepage_and_logo',
    up: (dialect) =>
      addColumns(dialect, 'gatehouse_clients', {
        client_uri: 'text',
        logo: 'id',
        logo_image: 'text',
        verified_at: 'integer',
      }),
  },
  {
    // Personal access tokens of users.
    name: '0020_personal_tokens',
    up: (dialect) =>
      createTable(dialect, {
        name: 'gatehouse_personal_tokens',
        columns: {
          user_id: 'id',
          // Of those that a user may have.
          place: 'integer',
          id: 'id',
          hash: 'id',
          name: 'id',
          resource: 'id?',
          scopes: 'text?',
          permissions: 'text?',
          created_at: 'integer',
          expires_at: 'integer',
          sequence: 'integer',
          last_used_at: 'integer?',
          last_used_from: 'id?',
          // From which it was used.
          networks: 'text?',
        },
        key: ['user_id', 'place'],
        unique: [['id'], ['hash']],
        indexes: [['expires_at']],
      }),
  },
  {
    // Which users are signed in at which clients, and the clients that have to be told that they were signed out.
    name: '0021_back_channel_logout',
    up: (dialect) => [
      ...addColumns(dialect, 'gatehouse_clients', { backchannel_logout_uri: 'text' }),
      ...addColumns(dialect, 'gatehouse_grants', { session_uid: 'id' }),
      ...createTable(dialect, {
        name: 'gatehouse_logouts',
        columns: {
          id: 'id',
          client_id: 'id',
          user_id: 'id',
          session_uid: 'id',
          created_at: 'integer',
          // Null when the client was told, or is not told any more.
          due_at: 'integer?',
          attempts: 'integer',
          attempt: 'id?',
          answered_at: 'integer?',
          error: 'id?',
          expires_at: 'integer',
        },
        indexes: [['due_at'], ['client_id', 'created_at'], ['user_id'], ['expires_at']],
      }),
    ],
  },
  {
    // Null in rows of nodes of the version before: none.
    name: '0022_post_logout_redirect_uris',
    up: (dialect) => addColumns(dialect, 'gatehouse_clients', { post_logout_redirect_uris: 'text' }),
  },
  {
    // Which tokens of Laravel Passport were used within a week.
    name: '0023_passport_uses',
    up: (dialect) =>
      createTable(dialect, {
        name: 'gatehouse_passport_uses',
        columns: { id: 'id', client_id: 'id', kind: 'id', expires_at: 'integer' },
        indexes: [['expires_at']],
      }),
  },
  {
    // As 0008_row_locks, for a grant that is started in a login session.
    name: '0024_session_locks',
    up: (dialect) => addColumns(dialect, 'gatehouse_sessions', { lock_count: 'integer' }),
  },
];

/** Names of the migrations that have not run, in order. On a database without Gatehouse's tables, all of them. */
export async function findPendingMigrations(statements: Statements): Promise<readonly string[]> {
  const applied = await statements
    .all<{ name: string }>('select name from gatehouse_migrations')
    .catch((error: unknown) => {
      if (errorKind(error) === 'missing table') return [];
      throw error;
    });
  const names = new Set(applied.map(({ name }) => name));
  return migrations.map(({ name }) => name).filter((name) => !names.has(name));
}
