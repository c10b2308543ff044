// A database plans by statistics, which it makes some minutes after its tables have grown. Statements must read little before, too.
import { existsSync, readFileSync } from 'node:fs';

import type { Knex } from 'knex';

import { mariadb, onEachEmptyDatabase, postgresql, sqlite } from './databases.ts';
import { openHost, rowsReadBy, SOLE } from './host-knex.ts';
import { BIG_TABLES, fill, sendAll } from './operations.ts';
import type { Sent } from './operations.ts';

const FEW = 60;
const MANY = 20_000;

/**
 * Of blocks on PostgreSQL, of rows on MariaDB, of pages on SQLite. A way through an index to its row has three or four blocks. A
 * diagnosis goes such a way in each table. Transactions of other tests on the server keep old versions of rows, which are read too: some
 * six blocks for the 25 of the sessions of a user. A table that is read whole has hundreds.
 */
const MOST = { ofRequests: 40, ofOthers: 60 } as const;

/** Where Linux counts what this thread, and so SQLite, has read of files. */
const IO = '/proc/thread-self/io';

/** Operations of requests that send more than one statement: to PostgreSQL, and to MariaDB. */
const STATEMENTS: Readonly<Record<string, readonly [pg: number, mysql2: number]>> = {
  'a reader of ends': [7, 7],
  'the end of a user': [5, 5],
  'the end of a client': [5, 5],
  'the end of a session of which apps are told': [7, 7],
  'the end of all sessions of a user but one': [7, 7],
  'the end of a user of which apps are told': [5, 5],
  'logouts that apps have to be told of': [2, 2],
  'a consent again': [7, 6],
  'a consent to an app that registered itself': [5, 5],
  'a redemption that comes second': [2, 2],
  'the revocation of a grant': [6, 6],
  'the revocation of the grants of a user': [7, 7],
  'an attempt that is too many': [2, 2],
  'requests that are counted': [1, 2],
  'an idempotent request': [1, 2],
  'an idempotent request again': [3, 2],
  'an approval of a device': [5, 1],
  'a new grant that an issuer allows': [5, 1],
  'a new personal token': [5, 4],
  'a use of a personal token': [4, 4],
  'uses of tokens of Passport': [4, 4],
};

type Row = Readonly<Record<string, unknown>>;

/** The statements that read too much, of all or of those that are asked for. */
async function findExpensive(
  sent: readonly Sent[],
  measure: (statement: Sent, index: number) => Promise<number>,
  isAsked: (statement: Sent) => boolean = () => true,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [index, statement] of sent.entries()) {
    if (!isAsked(statement)) continue;
    const read = await measure(statement, index);
    const most = statement.isOfRequest ? MOST.ofRequests : MOST.ofOthers;
    if (read > most) found.push(`${statement.operation}: ${read} for ${statement.sql}`);
  }
  return found;
}

function isOfRequest(statement: Sent): boolean {
  return statement.isOfRequest;
}

/** Of a list of audit records, servers may read the whole table before it is analyzed. */
function isPlannedWell({ operation }: Sent): boolean {
  return !operation.startsWith('audit records');
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

/** The operations that send other numbers of statements than expected: one, or those of the list. */
function unexpected(
  counts: ReadonlyMap<string, number>,
  client: 'pg' | 'mysql2',
): readonly (readonly [string, number])[] {
  return [...counts].filter(
    ([operation, count]) => count !== (STATEMENTS[operation] ?? [1, 1])[client === 'pg' ? 0 : 1],
  );
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
  'an operation of a request is one statement, which reads few blocks, analyzed or not, and whenever it was planned',
  async (t, { client }, address) => {
    const { sent, counts } = await sendAll(client, address);
    t.true(sent.length > 100);
    t.deepEqual(unexpected(counts, 'pg'), []);
    const host = openHost(t, client, address, SOLE);
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
    const ofFew = await findExpensive(sent, measure, isOfRequest);
    t.deepEqual(ofFew, [], 'planned by a connection when there were few rows');
    for (const when of ['before', 'after'] as const) {
      if (when === 'after') await host.raw(`analyze ${BIG_TABLES.join(', ')}`);
      await prepare('force_generic_plan');
      t.deepEqual(await findExpensive(sent, measure, isOfRequest), [], `generic, ${when} an analysis`);
      await prepare('force_custom_plan');
      const found = await findExpensive(sent, measure, when === 'after' ? undefined : isPlannedWell);
      t.deepEqual(found, [], `custom, ${when} an analysis`);
    }
  },
  [postgresql],
);

onEachEmptyDatabase(
  'an operation of a request is one statement, which reads few rows, analyzed or not',
  async (t, { client }, address) => {
    const { sent, counts } = await sendAll(client, address);
    t.true(sent.length > 100);
    t.deepEqual(unexpected(counts, 'mysql2'), []);
    const host = openHost(t, client, address, SOLE);
    for (const table of BIG_TABLES) await host.raw(`alter table ${table} stats_auto_recalc = 0`);
    await fill(host, client, 1, MANY);
    const measure = async ({ sql }: Sent): Promise<number> => {
      // A row that is there already is a part of what some statements are for.
      const run = async (): Promise<void> =>
        host.raw(sql).catch((error: { code?: string }) => {
          if (error.code !== 'ER_DUP_ENTRY') throw error;
        });
      return rowsReadBy(host, async () => undone(host, run));
    };
    t.deepEqual(await findExpensive(sent, measure, isPlannedWell), []);
    await host.raw(`analyze table ${BIG_TABLES.join(', ')}`);
    // Of the audit records of a client, MariaDB reads an index from its end also for a later page.
    const analyzed = await findExpensive(sent, measure, ({ operation }) => !operation.includes('"after":{'));
    t.deepEqual(analyzed, [], 'analyzed');
  },
  [mariadb],
);

onEachEmptyDatabase(
  'a statement of an operation reads few pages',
  async (t, { client }, address) => {
    if (!existsSync(IO)) {
      t.pass();
      return;
    }
    const { sent } = await sendAll(client, address);
    t.true(sent.length > 100);
    const host = openHost(t, client, address, SOLE);
    await fill(host, client, 1, MANY);
    // So few that each page is read from the file when it is needed.
    await host.raw('pragma cache_size = 10');
    const bytesRead = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync(IO, 'utf8'))![1]);
    const before = bytesRead();
    const ofMeasuring = bytesRead() - before;
    const measure = async ({ sql, values }: Sent): Promise<number> =>
      undone(host, async () => {
        const start = bytesRead();
        await host.raw(sql, values as Knex.RawBinding[]).catch((error: { code?: string }) => {
          if (!error.code?.startsWith('SQLITE_CONSTRAINT')) throw error;
        });
        return Math.round((bytesRead() - start - ofMeasuring) / 4096);
      });
    t.deepEqual(await findExpensive(sent, measure), []);
  },
  [sqlite],
);
