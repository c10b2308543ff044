import { defineTable } from './table.ts';
import type { StoredTable } from './table.ts';
import { FEATURE_CLIENT_FIELDS, FEATURE_TABLES } from '../features/tables.ts';

const FURTHER_COLUMNS: object = Object.fromEntries(
  FEATURE_CLIENT_FIELDS.map(({ column, isList }) => [column, isList ? 'text' : 'text?']),
);

/** The tables of the core. */
export const CORE_TABLES = {
  clients: defineTable({
    name: 'gatehouse_clients',
    columns: {
      id: 'id',
      name: 'id',
      // The name in lower case by JavaScript's rules, because the rules of the databases differ.
      sort_name: 'id',
      client_uri: 'text?',
      logo: 'id?',
      // The image is stored in the client's row, so that it is deleted with the client.
      logo_image: 'text?',
      verified: 'flag',
      // Who has registered it: `manual`, or the name of a source of clients.
      source: 'id',
      grant_type: 'id',
      redirect_uris: 'text',
      ...FURTHER_COLUMNS,
      confidential: 'flag',
      public_keys: 'text?',
      native: 'flag',
      first_party: 'flag',
      scopes: 'text?',
      roles: 'text',
      permissions: 'text',
      owner_id: 'id?',
      disabled: 'flag',
      disabled_by: 'id?',
      lifetimes: 'text',
      created_at: 'integer',
      updated_at: 'integer',
      lock_count: 'counter',
    },
    // Lists of clients are read, and names are searched, in the order of an index.
    indexes: [
      ['sort_name', 'id'],
      ['owner_id', 'sort_name', 'id'],
    ],
    expires: undefined,
    user: 'by hand',
  }),
  clientNames: defineTable({
    // Apps are searched by these names.
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
    expires: undefined,
    user: 'by hand',
  }),
  clientSecrets: defineTable({
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
    // An expired secret stays in the list of its client.
    expires: undefined,
    user: undefined,
  }),
  assertions: defineTable({
    // Client assertions that were used (RFC 7523 section 3, `jti`).
    name: 'gatehouse_assertions',
    columns: { id: 'id', expires_at: 'integer' },
    indexes: [['expires_at']],
    expires: 'expires_at',
    user: undefined,
  }),
  consents: defineTable({
    name: 'gatehouse_consents',
    columns: {
      user_id: 'id',
      client_id: 'id',
      scopes: 'text',
      // The hosts for which the user has consented.
      hosts: 'text',
      created_at: 'integer',
      updated_at: 'integer',
      last_used_at: 'integer?',
      lock_count: 'counter',
    },
    key: ['user_id', 'client_id'],
    // Before PostgreSQL has analyzed the table, it may use the index on the client even where the user is known. With the user as its
    // second column, the index leads to the one row and not to all users of the client.
    indexes: [['client_id', 'user_id']],
    expires: undefined,
    user: 'user_id',
  }),
  grants: defineTable({
    name: 'gatehouse_grants',
    columns: {
      id: 'id',
      user_id: 'id',
      client_id: 'id',
      // Null: not limited to scopes.
      scopes: 'text?',
      created_at: 'integer',
      expires_at: 'integer',
      revoked_at: 'integer?',
      // The time at which the grant and all credentials that were issued from it have expired.
      needed_until: 'integer',
      sequence: 'integer',
      // Where it was authorized.
      origin: 'text?',
      last_used_at: 'integer?',
      session_uid: 'id?',
    },
    // With `revoked_at`, so that each batch of a revocation finds the remaining grants without reading the revoked ones.
    indexes: [['user_id', 'revoked_at', 'client_id'], ['client_id', 'revoked_at'], ['needed_until']],
    // A grant, and with it the time of its revocation, is kept until all of its credentials have expired.
    expires: 'needed_until',
    user: 'by hand',
  }),
  credentials: defineTable({
    name: 'gatehouse_credentials',
    columns: {
      id: 'id',
      kind: 'id',
      grant_id: 'id',
      payload: 'text',
      expires_at: 'integer',
      consumed_at: 'integer?',
      sealed_successor: 'text?',
      // The refresh token that was issued when this one was redeemed, so that one query finds the current token of a family.
      successor_id: 'id?',
    },
    key: ['id', 'kind'],
    indexes: [['expires_at']],
    // A spent credential is kept until it expires, so that its reuse is detected.
    expires: 'expires_at',
    user: 'by hand',
  }),
  revocations: defineTable({
    // The tokens that were revoked, and the ends of users, of clients and of all. A sequence number, not a time, decides which of their
    // credentials have ended; grants and sessions store the number at their beginning.
    name: 'gatehouse_revocations',
    columns: {
      kind: 'id',
      value: 'id',
      revoked_at: 'integer',
      expires_at: 'integer',
      // Null for a token.
      sequence: 'integer?',
    },
    key: ['kind', 'value'],
    indexes: [['revoked_at'], ['expires_at']],
    expires: 'expires_at',
    // The end of a user outlives an erasure: no earlier token works again if the id is given to somebody else.
    user: undefined,
  }),
  sessions: defineTable({
    name: 'gatehouse_sessions',
    columns: {
      id: 'id',
      uid: 'id',
      user_id: 'id',
      payload: 'text',
      expires_at: 'integer',
      sequence: 'integer',
      // Where the user logged in.
      origin: 'text?',
      last_used_at: 'integer',
      lock_count: 'counter',
    },
    indexes: [['uid'], ['user_id'], ['expires_at']],
    expires: 'expires_at',
    user: 'user_id',
  }),
  endReaders: defineTable({
    // The readers of ends: which kind each one reads, and until when.
    name: 'gatehouse_end_readers',
    columns: { kind: 'id', name: 'id', until: 'integer' },
    key: ['kind', 'name'],
    indexes: [['until']],
    expires: 'until',
    user: undefined,
  }),
  ends: defineTable({
    // The outbox of ends: what has ended, once for each reader that has not taken it yet.
    name: 'gatehouse_ends',
    columns: {
      id: 'id',
      reader: 'id',
      kind: 'id',
      value: 'id',
      user_id: 'id?',
      client_id: 'id?',
      session_uid: 'id?',
      ended_by: 'id',
      ended_at: 'integer',
      due_at: 'integer',
      attempt: 'id?',
      // Not unique: where rows are copied without their counter, such as by logical replication, a new end does not fail because a row
      // with its number exists.
      sequence: 'sequence',
    },
    indexes: [
      ['reader', 'sequence', 'due_at'],
      // Whether a user has disconnected a client.
      ['user_id', 'reader'],
    ],
    // An end stays for as long as its reader goes on; `createPrune()` removes the ends of other readers.
    expires: undefined,
    // Readers have to learn of an erasure, which is an end too.
    user: undefined,
  }),
  assignments: defineTable({
    name: 'gatehouse_assignments',
    columns: { user_id: 'id', roles: 'text', permissions: 'text' },
    key: ['user_id'],
    expires: undefined,
    user: 'user_id',
  }),
  idempotency: defineTable({
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
    expires: 'expires_at',
    user: undefined,
  }),
  audit: defineTable({
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
      // For records of one type, however many other records the user has.
      ['user_id', 'type', 'at', 'id'],
      ['expires_at'],
    ],
    expires: 'expires_at',
    user: 'by hand',
  }),
  attempts: defineTable({
    // Counted attempts, such as logins with a wrong password.
    name: 'gatehouse_attempts',
    columns: { id: 'id', attempts: 'integer', expires_at: 'integer' },
    indexes: [['expires_at']],
    expires: 'expires_at',
    user: undefined,
  }),
  keys: defineTable({
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
    // Expired keys are few, so they have no index of their own; `createPrune()` looks for them by purpose.
    expires: undefined,
    user: undefined,
  }),
} as const;

/**
 * Every table, with its current columns. The migrations that make them, pruning, the erasure of users and the doctor follow from this list.
 *
 * Times are seconds since 1970; lists and payloads are JSON. There are no foreign keys: the rows of a grant expire at different times, so
 * pruning would check references at every row, and no row is read without its parent.
 *
 * A `lock_count` counts the transactions that have locked the row. A transaction that relies on the row changes it, because a Galera
 * cluster replicates changes and no locks: only two changes of a row are in conflict on different members.
 */
export const TABLES: readonly StoredTable[] = [...Object.values(CORE_TABLES), ...FEATURE_TABLES];
