// A new database has no statistics until it analyzes its tables, in the minutes in which its first users come.
import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';

import { mariadb, onEachEmptyDatabase, postgresql, sqlite } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { BIG_TABLES, fill, sendAll } from './hot-statements.ts';
import type { Sent } from './hot-statements.ts';

const FEW = 60;
const MANY = 20_000;

/** Of blocks on PostgreSQL, of rows on MariaDB. A way through an index to its row has three or four blocks. */
const MOST = 30;

type Row = Readonly<Record<string, unknown>>;

function connect(t: ExecutionContext, client: TestDatabase['client'], address: string): Knex {
  const connection = client === 'better-sqlite3' ? { filename: address.slice('sqlite:'.length) } : address;
  const log = { warn() {} };
  const host = knex({ client, connection, pool: { min: 1, max: 1 }, useNullAsDefault: true, log });
  t.teardown(async () => host.destroy());
  return host;
}

/** The statements that read too much. */
async function findExpensive(
  sent: readonly Sent[],
  measure: (statement: Sent, index: number) => Promise<number>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [index, statement] of sent.entries()) {
    const read = await measure(statement, index);
    if (read > MOST) found.push(`${statement.operation}: ${read} for ${statement.sql}`);
  }
  return found;
}

/** Runs `work` in a transaction that is rolled back. */
async function undone<T>(host: Knex, work: () => Promise<T>): Promise<T> {
  await host.raw('begin');
  try {
    return await work();
  } finally {
    await host.raw('rollback');
  }
}

/** The blocks that an execution of the prepared statement reads. */
async function blocksOf(host: Knex, { values }: Sent, index: number): Promise<number> {
  const literals = values.map((value) =>
    value === null ? 'null' : `'${String(value as string | number).replaceAll("'", "''")}'`,
  );
  const given = literals.length > 0 ? `(${literals.join(', ')})` : '';
  const explain = 'explain (analyze, buffers, timing off, format json)';
  const { rows } = await undone(host, async () => host.raw(`${explain} execute planned_${index}${given}`));
  return blocksIn(rows[0]['QUERY PLAN'][0].Plan as Row);
}

/**
 * The blocks in which a plan finds its rows. Without those of the new rows and of their entries in the indexes, which are the same
 * in each plan.
 */
function blocksIn(plan: Row): number {
  const nodes = nodesOf(plan);
  const read = new Set(nodes.map((node) => `CTE ${node['CTE Name'] as string}`));
  const changes = nodes.filter((node) => node['Node Type'] === 'ModifyTable');
  // A change whose rows the plan does not read is completed after it, and not a part of its sum.
  const others = changes.filter((node) => node !== plan && !read.has(node['Subplan Name'] as string));
  return (
    [plan, ...others].reduce((sum, node) => sum + allIn(node), 0) -
    changes.reduce((sum, node) => sum + ownOf(node), 0)
  );
}

function allIn(node: Row): number {
  return Number(node['Shared Hit Blocks']) + Number(node['Shared Read Blocks']);
}

function ownOf(node: Row): number {
  return childrenOf(node)
    .filter((child) => child['Parent Relationship'] === 'Outer')
    .reduce((left, child) => left - allIn(child), allIn(node));
}

function childrenOf(node: Row): readonly Row[] {
  return (node['Plans'] ?? []) as readonly Row[];
}

function nodesOf(plan: Row): readonly Row[] {
  return [plan, ...childrenOf(plan).flatMap(nodesOf)];
}

onEachEmptyDatabase(
  'in a database that was never analyzed, each statement of a request reads at most 30 blocks',
  async (t, { client }, address) => {
    const sent = await sendAll(client, address);
    t.true(sent.length > 40);
    const host = connect(t, 'pg', address);
    for (const table of BIG_TABLES) await host.raw(`alter table ${table} set (autovacuum_enabled = false)`);
    const measure = async (statement: Sent, index: number): Promise<number> =>
      blocksOf(host, statement, index);
    const prepare = async (mode: string): Promise<void> => {
      await host.raw('deallocate all');
      await host.raw(`set plan_cache_mode = ${mode}`);
      for (const [index, { sql }] of sent.entries()) await host.raw(`prepare planned_${index} as ${sql}`);
    };

    await fill(host, client, 1, FEW);
    await prepare('force_generic_plan');
    for (const [index, statement] of sent.entries()) await measure(statement, index);
    await fill(host, client, FEW + 1, MANY);
    t.deepEqual(await findExpensive(sent, measure), [], 'planned by a connection when there were few rows');
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await prepare(mode);
      t.deepEqual(await findExpensive(sent, measure), [], mode);
    }
  },
  [postgresql],
);

onEachEmptyDatabase(
  'in a database that was never analyzed, each statement of a request reads at most 30 rows',
  async (t, { client }, address) => {
    const sent = await sendAll(client, address);
    t.true(sent.length > 40);
    const host = connect(t, 'mysql2', address);
    for (const table of BIG_TABLES) await host.raw(`alter table ${table} stats_auto_recalc = 0`);
    await fill(host, client, 1, MANY);
    const measure = async ({ sql }: Sent): Promise<number> => {
      // Would commit a transaction.
      await host.raw('flush local status');
      return undone(host, async () => {
        // A row that is there already is a part of what some statements are for.
        await host.raw(sql).catch((error: { code?: string }) => {
          if (error.code !== 'ER_DUP_ENTRY') throw error;
        });
        const [counters] = await host.raw("show local status like 'Handler_read%'");
        return (counters as { Value: string }[]).reduce((sum, { Value: count }) => sum + Number(count), 0);
      });
    };
    t.deepEqual(await findExpensive(sent, measure), []);
  },
  [mariadb],
);

// By whole keys, those of a user or a client that are few, or the first logouts of an index, in whose order they are read.
const STEP_OF_FEW =
  /\((hash=\?|id=\?( AND kind=\?)?|kind=\? AND value=\?|user_code=\?|user_id=\?.*|client_id=\? AND (user_)?id=\?)\)|(secrets|registrations|names)_1 \(client_id=\?\)|gatehouse_logouts_(due_at \(due_at<\?|client_id_created_at \(client_id=\?)\)/;

onEachEmptyDatabase(
  'in a database that was never analyzed, each statement of a request finds its rows by whole keys',
  async (t, { client }, address) => {
    const sent = await sendAll(client, address);
    t.true(sent.length > 40);
    const host = connect(t, client, address);
    for (const { operation, sql } of sent) {
      const values = Array.from({ length: sql.split('?').length - 1 }, () => null);
      const plan: { detail: string }[] = await host.raw(`explain query plan ${sql}`, values);
      const steps = plan.filter(({ detail }) => detail.startsWith('SEARCH'));
      t.deepEqual(
        steps.filter(({ detail }) => !STEP_OF_FEW.test(detail)),
        [],
        `${operation}: ${sql}`,
      );
    }
  },
  [sqlite],
);
