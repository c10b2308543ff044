import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { aCode, aGrant, aRefreshToken, aSession, NOW } from '../../lib/testing/storage/rows.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { partsOf } from './hot-statements.ts';
import { watchedKnex } from './watched-knex.ts';

const ENDS = 100_000;
const OTHERS = 5000;
const ID = 'of 3';

/** A query with one column `i`, from 1 on. */
const SERIES: Readonly<Record<TestDatabase['client'], (count: number) => string>> = {
  'better-sqlite3': () => '',
  pg: (count) => `(select cast(i as varchar) as i, i as n from generate_series(1, ${count}) i) s`,
  mysql2: (count) => `(select cast(seq as char) as i, seq as n from seq_1_to_${count}) s`,
};

/** A hundred thousand ended users, clients and tokens, and thousands of rows in the other tables. */
async function fill(host: Knex, client: TestDatabase['client']): Promise<void> {
  const [ends, others] = [SERIES[client](ENDS), SERIES[client](OTHERS)];
  for (const sql of [
    `gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
      select case when n % 3 = 0 then 'user' when n % 3 = 1 then 'client' else 'token' end, concat('of ', i), n, 9999999999,
        case when n % 3 = 2 then null else n end from ${ends}`,
    `gatehouse_clients (id, name, sort_name, grant_type, redirect_uris, confidential, native, first_party, roles, permissions,
        disabled, created_at, updated_at)
      select concat('of ', i), 'App', 'app', 'authorization_code', '[]', 1, 0, 0, '[]', '[]', 0, 0, 0 from ${others}`,
    `gatehouse_client_secrets (client_id, id, hash, label, hint, created_at)
      select concat('of ', i), '1', 'hash', '', '', 0 from ${others}`,
    `gatehouse_consents (user_id, client_id, scopes, created_at, updated_at)
      select concat('of ', i), '${ID}', '[]', ${NOW}, 0 from ${others}`,
    `gatehouse_grants (id, user_id, client_id, scopes, created_at, expires_at, needed_until, sequence)
      select concat('of ', i), concat('of ', i), concat('of ', i), '[]', 0, ${NOW} - n, ${NOW} - n, ${ENDS} from ${others}`,
    `gatehouse_credentials (id, kind, grant_id, payload, expires_at)
      select concat('of ', i), 'code', concat('of ', i), '{}', 9999999999 from ${others}`,
    `gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence)
      select concat('of ', i), concat('of ', i), concat('of ', i), '{}', 9999999999, ${ENDS} from ${others}`,
  ])
    await host.raw(`insert into ${sql}`);
  await host('gatehouse_revocations').where({ kind: 'sequence', value: '' }).update({ sequence: ENDS });
  const tables = [
    'revocations',
    'clients',
    'client_secrets',
    'consents',
    'grants',
    'credentials',
    'sessions',
  ];
  for (const table of tables) {
    await host.raw(client === 'pg' ? `analyze gatehouse_${table}` : `analyze table gatehouse_${table}`);
  }
}

const TOKEN = { id: ID, clientId: ID, grant: { id: ID, userId: ID }, sequence: ENDS };
const CONSENT = { userId: ID, clientId: ID, createdAt: NOW };

// Operations of every request, and of each new session or grant; each runs on existing rows.
const OPERATIONS: Readonly<Record<string, (storage: Storage) => Promise<unknown>>> = {
  "whether a user's token stands": async ({ revocations }) => revocations.isValid(TOKEN),
  "whether a client's token stands": async ({ revocations }) =>
    revocations.isValid({ ...TOKEN, grant: undefined }),
  'the number of the latest end': async ({ revocations }) => revocations.latestSequence(),
  'a session': async ({ sessions }) => sessions.find(ID),
  'a change of a session': async ({ sessions }) => sessions.update(aSession({ id: ID })),
  'a client': async ({ clients }) => clients.find(ID),
  'a code': async ({ grants }) => grants.findCredential('code', ID),
  'a redemption': async ({ grants }) =>
    grants.redeem(aCode({ id: ID }), { successor: aRefreshToken({ id: 'next', grantId: ID }) }),
  'a redemption that comes second': async ({ grants }) =>
    grants.redeem(aCode({ id: ID }), { neededUntil: NOW }),
  'a grant on a session and a consent': async ({ grants }) =>
    grants.insert(aGrant({ id: 'new' }), aCode({ id: 'new', grantId: 'new' }), {
      consent: CONSENT,
      sessionId: ID,
    }),
  'the end of a user': async ({ revocations }) => revocations.revokeAllOf({ userId: ID }),
  'the end of all': async ({ revocations }) => revocations.revokeAllOf({ all: true }),
  'the end of a client': async ({ revocations }) => revocations.revokeAllOf({ clientId: 'of 4' }),
};

type Row = Readonly<Record<string, unknown>>;

interface Sent {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** The steps of a plan that find rows other than by a whole primary key. */
const slowSteps: Readonly<Record<'pg' | 'mysql2', (host: Knex, sent: Sent) => Promise<string[]>>> = {
  async pg(host, { sql, values }) {
    const literals = values.map((value) => (value === null ? 'null' : `'${value as string}'`));
    const given = literals.length > 0 ? `(${literals.join(', ')})` : '';
    const wrong: string[] = [];
    // As planned for the first executions, and for later ones.
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await host.raw(`set plan_cache_mode = ${mode}`);
      await host.raw(`prepare planned as ${sql}`);
      const { rows } = await host.raw(`explain (format json) execute planned${given}`);
      await host.raw('deallocate planned');
      wrong.push(
        ...nodesOf(rows[0]['QUERY PLAN'])
          .filter(isSlow)
          .map((node) => JSON.stringify(node)),
      );
    }
    return wrong;
  },
  async mysql2(host, { sql }) {
    const [rows]: Row[][] = await host.raw(`explain ${sql}`);
    return rows!
      .filter(({ table, select_type: type }) => table !== null && type !== 'INSERT')
      .filter(({ key, rows: count }) => key !== 'PRIMARY' || Number(count) > 3)
      .map((row) => JSON.stringify(row));
  },
};

function nodesOf(plan: unknown): Row[] {
  if (Array.isArray(plan)) return plan.flatMap(nodesOf);
  if (typeof plan !== 'object' || plan === null) return [];
  const { Plans: children, Plan: root, ...node } = plan as Row;
  return [node, ...nodesOf(root), ...nodesOf(children)];
}

function isSlow(node: Row): boolean {
  const { 'Node Type': type, 'Index Name': index, 'Index Cond': condition, 'Plan Rows': rows } = node;
  if (type === 'Seq Scan' || type === 'Hash' || type === 'Sort') return true;
  if (index === undefined) return false;
  const isWhole = index !== 'gatehouse_revocations_pkey' || /\bkind\b.*\bvalue\b/.test(condition as string);
  // This one has the columns of the primary key in the other order.
  const isKey = /_pkey$|^gatehouse_consents_client_id_user_id$/.test(index as string);
  return !isKey || !isWhole || Number(rows) > 2;
}

onEachDatabase(
  'each request finds its rows by whole keys, however many users were ended',
  async (t, { client }, address) => {
    if (client === 'better-sqlite3') return;
    let sent: Sent[] = [];
    const host = watchedKnex(client, address, (sql, values) => {
      for (const part of partsOf(sql)) sent.push({ sql: part, values });
    });
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host);
    await storage.migrate();
    await fill(host, client);
    for (const [name, run] of Object.entries(OPERATIONS)) {
      sent = [];
      await run(storage);
      const statements = sent;
      t.true(statements.length > 0, name);
      // Those that follow explain them.
      sent = [];
      for (const statement of statements) {
        t.deepEqual(await slowSteps[client](host, statement), [], `${name}: ${statement.sql}`);
      }
    }
  },
  [postgresql, mariadb],
);
