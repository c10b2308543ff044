import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { sqlStorage } from 'koa-gatehouse/adapters/sql';
import pg from 'pg';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { ActionCall } from '../../lib/api/actions/define-action.ts';
import type { Storage } from '../../lib/contracts/index.ts';
import { ActionError } from '../../lib/errors.ts';
import { onEachDatabase, postgresql, sqlite } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { openHost } from '../adapters/host-knex.ts';
import { around } from '../harness/storage.ts';
import { linesOf, serveApi } from './api.ts';
import type { Api } from './api.ts';
import { schoolActions } from './school-actions.ts';

const RENAME = '/actions/school/rename-school-action/bulk';
const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' };
const THREE = ['a', 'b', 'c'].map((id) => ({ id, input: { name: `New ${id}` } }));
const UNKNOWN = { id: 'x', input: { name: 'Nowhere' } };
const BODY = { mode: 'atomic', items: THREE };
const RESULTS = THREE.map(({ id, input }, index) => ({ index, status: 200, output: { id, ...input } }));
const [OLD, NEW] = [
  ['A', 'B', 'C'],
  ['New a', 'New b', 'New c'],
];

interface Schools {
  readonly api: Api;
  /** The ids for which the action ran. */
  readonly ran: string[];
  names(): Promise<string[]>;
  /** Called by `run` before it renames. */
  before: (call: ActionCall<{ name: string }, 'instance', Knex>) => unknown;
  /** The same, after it has renamed. */
  after: Schools['before'];
}

/** An API with an action that renames three schools in a database. */
async function serveSchools(
  t: ExecutionContext,
  { client }: Pick<TestDatabase, 'client'>,
  address: string,
  wrap: (storage: Storage) => Storage = (storage) => storage,
): Promise<Schools> {
  const database = openHost(t, client, address);
  const storage = wrap(knexStorage(database));
  await storage.migrate();
  await database.schema.createTable('schools', (table) => {
    table.string('id', 60).primary();
    table.string('name', 60).notNullable();
  });
  await database('schools').insert(['a', 'b', 'c'].map((id) => ({ id, name: id.toUpperCase() })));
  const schools: Omit<Schools, 'api'> = {
    ran: [],
    before() {},
    after() {},
    names: async () => database('schools').orderBy('id').pluck('name'),
  };
  const rename = defineAction({
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    permission: 'edit_schools',
    input: z.object({ name: z.string().min(1) }),
    output: z.object({ id: z.string(), name: z.string() }),
    database,
    async run(call) {
      const { id, input } = call;
      schools.ran.push(id);
      await schools.before(call);
      const changed = await call.database('schools').where({ id }).update(input);
      if (changed === 0) throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
      await schools.after(call);
      return { id, ...input };
    },
  });
  return Object.assign(schools, { api: await serveApi(t, { storage, actions: [rename] }) });
}

onEachDatabase(
  'an atomic bulk changes all or nothing, and names the item that failed; a dry run changes nothing',
  async (t, database, address) => {
    const schools = await serveSchools(t, database, address);
    const { post, platform } = schools.api;
    schools.before = ({ dryRun }) => t.true(dryRun);
    const dry = await post(RENAME, { ...BODY, dryRun: true });
    t.is(dry.status, 200);
    t.like(dry.body['data'], { mode: 'atomic', dryRun: true, succeeded: 3, failed: 0, results: RESULTS });
    const refused = await post(RENAME, { ...BODY, dryRun: true, items: [...THREE, UNKNOWN] });
    t.is(refused.status, 404);
    t.is(refused.body['index'], 3);
    t.deepEqual(await schools.names(), OLD);

    schools.ran.length = 0;
    schools.before = ({ dryRun }) => t.false(dryRun);
    const failed = await post(RENAME, { ...BODY, items: [THREE[0], THREE[1], UNKNOWN, THREE[2]] });
    t.is(failed.status, 404);
    t.is(failed.type, 'application/problem+json; charset=utf-8');
    t.like(failed.body, {
      code: 'bulk_rolled_back',
      message: 'Item 2 failed, so nothing was changed.',
      index: 2,
      problem: { status: 404, code: 'school_not_found', message: 'There is no school with this id.' },
    });
    t.deepEqual(schools.ran, ['a', 'b', 'x'], 'later items do not run');
    t.deepEqual(await schools.names(), OLD);

    schools.before = ({ id, database: inside }) => (id === 'b' ? inside.raw('select nonsense') : undefined);
    const broken = await post(RENAME, BODY);
    t.is(broken.status, 500);
    t.is(broken.body['index'], 1);
    t.like(broken.body['problem'], { reference: platform.log[0]?.fields['request_id'] });
    t.deepEqual(await schools.names(), OLD);

    schools.ran.length = 0;
    schools.before = () => {};
    const { status, body } = await post(RENAME, BODY);
    t.is(status, 200);
    t.deepEqual(body, {
      data: { mode: 'atomic', dryRun: false, succeeded: 3, failed: 0, results: RESULTS },
    });
    t.deepEqual(schools.ran, ['a', 'b', 'c'], 'in order');
    t.deepEqual(await schools.names(), NEW);
  },
);

onEachDatabase(
  'with a key, a bulk runs once, even if the process ends right after the commit',
  async (t, database, address) => {
    let hasEnded = false;
    const { api, ran } = await serveSchools(t, database, address, (storage) =>
      around(storage, async (name, call) => {
        if (hasEnded) return undefined;
        const result = await call();
        if (name === 'transaction') hasEnded = true;
        return result;
      }),
    );
    const first = await api.post(RENAME, BODY, KEY);
    t.is(first.status, 200);
    hasEnded = false;
    const repeat = await api.post(RENAME, BODY, KEY);
    t.is(repeat.headers.get('idempotent-replayed'), 'true');
    t.deepEqual(repeat.body, first.body);
    t.is(ran.length, 3);
  },
);

test('the response of an atomic bulk is stored in its transaction, and not once more', async (t) => {
  const calls: string[] = [];
  const { api } = await serveSchools(t, sqlite, await sqlite.empty(), (storage) =>
    around(storage, async (name, call) => {
      if (name === 'transaction' || name.startsWith('idempotency.')) calls.push(name);
      return call();
    }),
  );
  t.is((await api.post(RENAME, BODY, KEY)).status, 200);
  t.deepEqual(calls, ['idempotency.begin', 'transaction', 'idempotency.finish']);
});

onEachDatabase(
  'with a key, an attempt taken over by another one changes nothing',
  async (t, database, address) => {
    const schools = await serveSchools(t, database, address, ({ idempotency, ...storage }) => ({
      ...storage,
      idempotency: {
        ...idempotency,
        async begin(request, now) {
          const found = await idempotency.begin(request, now);
          // As if this process had been suspended for longer than its lease.
          const { leasedUntil } = request;
          const next = { ...request, attempt: 'another', leasedUntil: leasedUntil + 60 };
          await idempotency.begin(next, leasedUntil);
          return found;
        },
      },
    }));
    const { status, body } = await schools.api.post(RENAME, BODY, KEY);
    t.is(status, 503);
    t.is(body['code'], 'aborted');
    t.deepEqual(await schools.names(), OLD);
  },
);

onEachDatabase(
  'an action that goes on after the error of a statement has changed what the response says: on PostgreSQL nothing',
  async (t, database, address) => {
    const schools = await serveSchools(t, database, address);
    schools.after = async (call) =>
      call
        .database('schools')
        .insert({ id: 'a', name: 'again' })
        .catch(() => {});
    const { body, status } = await schools.api.post(RENAME, { ...BODY, items: [THREE[0]] }, KEY);
    if (database === postgresql) {
      t.deepEqual([status, body['code']], [503, 'temporarily_unavailable']);
      t.deepEqual(await schools.names(), OLD);
      schools.after = () => {};
      t.is((await schools.api.post(RENAME, { ...BODY, items: [THREE[0]] }, KEY)).status, 200);
    } else t.is(status, 200);
    t.deepEqual(await schools.names(), ['New a', 'B', 'C']);
  },
);

test('with a key, a bulk that was rolled back runs again when it is repeated', async (t) => {
  const schools = await serveSchools(t, sqlite, await sqlite.empty());
  const { post } = schools.api;
  schools.before = ({ id }) => {
    if (id === 'c') throw new ActionError(409, 'not_yet', 'Not yet.');
  };
  t.is((await post(RENAME, BODY, KEY)).status, 409);
  schools.before = () => {};
  t.is((await post(RENAME, { ...BODY, dryRun: true }, { 'idempotency-key': 'dry' })).status, 200);
  t.deepEqual(await schools.names(), OLD);
  t.is((await post(RENAME, BODY, KEY)).status, 200);
  t.deepEqual(await schools.names(), NEW);
});

test('all inputs are checked before an item runs, and every mistake is listed', async (t) => {
  const { api, ran } = await serveSchools(t, sqlite, await sqlite.empty());
  const items = [...THREE, { id: 'a', input: {} }, 7, { input: { name: 'x' } }];
  const { status, body } = await api.post(RENAME, { mode: 'atomic', items });
  t.is(status, 422);
  t.is(body['code'], 'input_invalid');
  t.deepEqual(body['errors'], [
    { pointer: '#/items/3/input/name', message: 'Invalid input: expected string, received undefined' },
    { pointer: '#/items/4', message: 'Give an object with input.' },
    { pointer: '#/items/5/id', message: 'An id has 1 to 255 characters, and no control characters.' },
  ]);
  t.deepEqual(ran, []);
});

test('as NDJSON, the results are sent after the commit', async (t) => {
  const { api } = await serveSchools(t, sqlite, await sqlite.empty());
  const accept = { accept: 'application/x-ndjson' };
  const refused = await api.post(RENAME, { ...BODY, items: [...THREE, UNKNOWN] }, accept);
  t.is(refused.status, 404);
  t.is(refused.body['code'], 'bulk_rolled_back');
  const answer = await api.post(RENAME, BODY, accept);
  t.is(answer.type, 'application/x-ndjson; charset=utf-8');
  t.deepEqual(linesOf(answer), [...RESULTS, { succeeded: 3, failed: 0 }]);
});

test('if the caller disconnects, the bulk is rolled back', async (t) => {
  const schools = await serveSchools(t, sqlite, await sqlite.empty());
  const { api } = schools;
  const second = Promise.withResolvers<AbortSignal>();
  const release = Promise.withResolvers<void>();
  schools.before = async ({ id, signal }) => {
    if (id !== 'b') return;
    second.resolve(signal);
    await release.promise;
  };
  const outgoing = await api.open(RENAME, BODY);
  const signal = await second.promise;
  outgoing.destroy();
  await once(signal, 'abort');
  release.resolve();
  t.deepEqual(await schools.names(), OLD);
  t.deepEqual(schools.ran, ['a', 'b']);
  t.deepEqual(api.platform.log, []);
});

test('an action without a database answers atomic bulks with an error', async (t) => {
  const { rename, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [rename] });
  for (const dryRun of [false, true]) {
    const { status, body } = await post(RENAME, { ...BODY, dryRun });
    t.is(status, 422);
    t.is(body['code'], 'atomic_unsupported');
    t.is(body['message'], 'This action cannot be rolled back. Send the items with the mode "independent".');
  }
  t.deepEqual(ran, []);
});

const TITLE = 'an atomic bulk gets the connection of its transaction, and changes all or nothing';
postgresql.register(`pg: ${TITLE}`, async (t) => assertAllOrNothing(t, await openPg(t)));
test(`node:sqlite: ${TITLE}`, async (t) => assertAllOrNothing(t, openSqlite()));

async function assertAllOrNothing<D>(t: ExecutionContext, database: Opened<D>): Promise<void> {
  await database.storage.migrate();
  await database.query('create table schools (id varchar(60) primary key, name varchar(60) not null)');
  await database.query("insert into schools values ('a', 'A'), ('b', 'B'), ('c', 'C')");
  const rename = defineAction({
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    permission: 'edit_schools',
    input: z.object({ name: z.string().regex(/^[\w ]+$/) }),
    output: z.object({ id: z.string(), name: z.string() }),
    database: database.own,
    async run({ id, input, database: connection }) {
      const [sent] = await database.send(
        connection,
        `update schools set name = '${input.name}' where id = '${id}' returning id`,
      );
      if (!sent) throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
      return { id, ...input };
    },
  });
  const { post } = await serveApi(t, { storage: database.storage, actions: [rename] });
  const names = async (): Promise<unknown[]> =>
    (await database.query('select name from schools order by id')).map(({ name }) => name);

  const failed = await post(RENAME, { ...BODY, items: [...THREE, UNKNOWN] });
  t.is(failed.status, 404);
  t.like(failed.body, { code: 'bulk_rolled_back', message: 'Item 3 failed, so nothing was changed.' });
  t.deepEqual(await names(), OLD);

  const done = await post(RENAME, BODY, KEY);
  t.is(done.status, 200);
  t.like(done.body['data'], { mode: 'atomic', succeeded: 3, failed: 0, results: RESULTS });
  t.deepEqual(await names(), NEW);
  const again = await post(RENAME, BODY, KEY);
  t.deepEqual(again.body, done.body, 'its answer is stored');
}

/** What an app has opened without Knex. */
interface Opened<D> {
  readonly storage: Storage;
  readonly own: D;
  /** Sends a statement on what an action gets. */
  send(this: void, connection: D, sql: string): Promise<Record<string, unknown>[]>;
  query(this: void, sql: string): Promise<Record<string, unknown>[]>;
}

type PgConnection = Pick<pg.ClientBase, 'query'>;

async function sendByPg(connection: PgConnection, sql: string): Promise<Record<string, unknown>[]> {
  return (await connection.query<Record<string, unknown>>(sql)).rows;
}

async function openPg(t: ExecutionContext): Promise<Opened<PgConnection>> {
  const own = new pg.Pool({ connectionString: await postgresql.empty() });
  t.teardown(async () => own.end());
  return { storage: sqlStorage(own), own, send: sendByPg, query: async (sql) => sendByPg(own, sql) };
}

async function sendBySqlite(connection: DatabaseSync, sql: string): Promise<Record<string, unknown>[]> {
  return connection.prepare(sql).all();
}

function openSqlite(): Opened<DatabaseSync> {
  const own = new DatabaseSync(':memory:');
  return { storage: sqlStorage(own), own, send: sendBySqlite, query: async (sql) => sendBySqlite(own, sql) };
}
