import { once } from 'node:events';
import { request as send } from 'node:http';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { ActionCall } from '../../lib/api/actions/define-action.ts';
import type { Storage, StoredRequest } from '../../lib/contracts/index.ts';
import { ActionError } from '../../lib/errors.ts';
import { onEachDatabase, sqlite } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { around } from '../harness/storage.ts';
import { serveApi } from './api.ts';
import type { Api } from './api.ts';
import { schoolActions } from './school-actions.ts';

const RENAME = '/actions/school/rename-school-action/bulk';

interface Schools {
  readonly database: Knex;
  readonly api: Api;
  names(): Promise<string[]>;
  /** Called by `run` before it renames. */
  before: (call: ActionCall<{ name: string }, 'instance', Knex>) => unknown;
}

/** An API with an action that renames three schools in a database. */
async function serveSchools(
  t: ExecutionContext,
  { client }: Pick<TestDatabase, 'client'>,
  address: string,
  wrap: (storage: Storage) => Storage = (storage) => storage,
): Promise<Schools> {
  const database = knex(
    client === 'better-sqlite3'
      ? { client, connection: { filename: address.replace('sqlite:', '') }, useNullAsDefault: true }
      : { client, connection: address },
  );
  t.teardown(async () => database.destroy());
  const storage = wrap(knexStorage(database));
  await storage.migrate();
  await database.schema.createTable('schools', (table) => {
    table.string('id', 60).primary();
    table.string('name', 60).notNullable();
  });
  await database('schools').insert(['a', 'b', 'c'].map((id) => ({ id, name: id.toUpperCase() })));
  const schools: Omit<Schools, 'api'> = {
    database,
    before() {},
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
      await schools.before(call);
      const { id, input } = call;
      const changed = await call.database('schools').where({ id }).update(input);
      if (changed === 0) throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
      return { id, ...input };
    },
  });
  return Object.assign(schools, { api: await serveApi(t, { storage, actions: [rename] }) });
}

const THREE = ['a', 'b', 'c'].map((id) => ({ id, input: { name: `New ${id}` } }));

onEachDatabase('an atomic bulk runs all items, in order', async (t, database, address) => {
  const schools = await serveSchools(t, database, address);
  const ran: string[] = [];
  schools.before = ({ id, dryRun }) => {
    t.false(dryRun);
    ran.push(id);
  };
  const { status, body } = await schools.api.post(RENAME, { mode: 'atomic', items: THREE });
  t.is(status, 200);
  t.deepEqual(body, {
    data: {
      mode: 'atomic',
      dryRun: false,
      succeeded: 3,
      failed: 0,
      results: THREE.map(({ id, input }, index) => ({ index, status: 200, output: { id, ...input } })),
    },
  });
  t.deepEqual(ran, ['a', 'b', 'c']);
  t.deepEqual(await schools.names(), ['New a', 'New b', 'New c']);
});

onEachDatabase(
  'if an item fails, nothing is changed, and the problem names the item and its status',
  async (t, database, address) => {
    const schools = await serveSchools(t, database, address);
    const items = [...THREE.slice(0, 2), { id: 'x', input: { name: 'Nowhere' } }, ...THREE.slice(2)];
    const ran: string[] = [];
    schools.before = ({ id }) => ran.push(id);
    const { status, type, body } = await schools.api.post(RENAME, { mode: 'atomic', items });
    t.is(status, 404);
    t.is(type, 'application/problem+json; charset=utf-8');
    t.is(body['code'], 'bulk_rolled_back');
    t.is(body['message'], 'Item 2 failed, so nothing was changed.');
    t.is(body['index'], 2);
    t.like(body['problem'], {
      status: 404,
      code: 'school_not_found',
      message: 'There is no school with this id.',
    });
    t.deepEqual(ran, ['a', 'b', 'x'], 'later items do not run');
    t.deepEqual(await schools.names(), ['A', 'B', 'C']);

    schools.before = ({ id, database: inside }) => (id === 'b' ? inside.raw('select nonsense') : undefined);
    const broken = await schools.api.post(RENAME, { mode: 'atomic', items: THREE });
    t.is(broken.status, 500);
    t.is(broken.body['index'], 1);
    t.like(broken.body['problem'], { reference: schools.api.platform.log[0]?.fields['request_id'] });
    t.deepEqual(await schools.names(), ['A', 'B', 'C']);
  },
);

onEachDatabase('a dry run runs all items and rolls back', async (t, database, address) => {
  const schools = await serveSchools(t, database, address);
  schools.before = ({ dryRun }) => t.true(dryRun);
  const { status, body } = await schools.api.post(RENAME, { mode: 'atomic', dryRun: true, items: THREE });
  t.is(status, 200);
  t.like(body['data'], { mode: 'atomic', dryRun: true, succeeded: 3, failed: 0 });
  t.like((body['data'] as { results: object[] }).results[2], { output: { id: 'c', name: 'New c' } });
  t.deepEqual(await schools.names(), ['A', 'B', 'C']);
  const refused = await schools.api.post(RENAME, {
    mode: 'atomic',
    dryRun: true,
    items: [...THREE, { id: 'x', input: { name: 'Nowhere' } }],
  });
  t.is(refused.status, 404);
  t.is(refused.body['index'], 3);
});

const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' };

onEachDatabase(
  'with a key, a bulk runs once, even if the process ends right after the commit',
  async (t, database, address) => {
    let hasEnded = false;
    const schools = await serveSchools(t, database, address, (storage) =>
      around(storage, async (name, call) => {
        if (hasEnded) return undefined;
        const result = await call();
        if (name === 'transaction') hasEnded = true;
        return result;
      }),
    );
    let ran = 0;
    schools.before = () => void (ran += 1);
    const body = { mode: 'atomic', items: THREE };
    const first = await schools.api.post(RENAME, body, KEY);
    t.is(first.status, 200);
    hasEnded = false;
    const repeat = await schools.api.post(RENAME, body, KEY);
    t.is(repeat.headers.get('idempotent-replayed'), 'true');
    t.deepEqual(repeat.body, first.body);
    t.is(ran, 3);
  },
);

onEachDatabase(
  'with a key, a bulk that was rolled back runs again when it is repeated',
  async (t, database, address) => {
    const schools = await serveSchools(t, database, address);
    const body = { mode: 'atomic', items: THREE };
    schools.before = ({ id }) => {
      if (id === 'c') throw new ActionError(409, 'not_yet', 'Not yet.');
    };
    t.is((await schools.api.post(RENAME, body, KEY)).status, 409);
    schools.before = () => {};
    const dry = await schools.api.post(RENAME, { ...body, dryRun: true }, { 'idempotency-key': 'dry' });
    t.is(dry.status, 200);
    t.deepEqual(await schools.names(), ['A', 'B', 'C']);
    t.is((await schools.api.post(RENAME, body, KEY)).status, 200);
    t.deepEqual(await schools.names(), ['New a', 'New b', 'New c']);
  },
);

onEachDatabase(
  'with a key, an attempt taken over by another one changes nothing',
  async (t, database, address) => {
    const schools = await serveSchools(t, database, address, ({ idempotency, ...storage }) => ({
      ...storage,
      idempotency: {
        ...idempotency,
        async begin(request: StoredRequest, now: number) {
          const found = await idempotency.begin(request, now);
          // As if this process had been suspended for longer than its lease.
          const { leasedUntil } = request;
          await idempotency.begin(
            { ...request, attempt: 'another', leasedUntil: leasedUntil + 60 },
            leasedUntil,
          );
          return found;
        },
      },
    }));
    const { status, body } = await schools.api.post(RENAME, { mode: 'atomic', items: THREE }, KEY);
    t.is(status, 503);
    t.is(body['code'], 'aborted');
    t.deepEqual(await schools.names(), ['A', 'B', 'C']);
  },
);

test('all inputs are checked before an item runs, and every mistake is listed', async (t) => {
  const schools = await serveSchools(t, sqlite, await sqlite.empty());
  schools.before = () => t.fail();
  const items = [...THREE, { id: 'a', input: {} }, 7, { input: { name: 'x' } }];
  const { status, body } = await schools.api.post(RENAME, { mode: 'atomic', items });
  t.is(status, 422);
  t.is(body['code'], 'input_invalid');
  t.deepEqual(body['errors'], [
    { pointer: '#/items/3/input/name', message: 'Invalid input: expected string, received undefined' },
    { pointer: '#/items/4', message: 'Give an object with input.' },
    { pointer: '#/items/5/id', message: 'An id has 1 to 255 characters, and no control characters.' },
  ]);
});

test('as NDJSON, the results are sent after the commit', async (t) => {
  const schools = await serveSchools(t, sqlite, await sqlite.empty());
  const accept = { accept: 'application/x-ndjson' };
  const refused = await schools.api.post(
    RENAME,
    { mode: 'atomic', items: [...THREE, { id: 'x', input: { name: 'X' } }] },
    accept,
  );
  t.is(refused.status, 404);
  t.is(refused.body['code'], 'bulk_rolled_back');

  const response = await fetch(`${schools.api.origin}/api/v1${RENAME}`, {
    method: 'POST',
    headers: {
      ...accept,
      authorization: `Bearer ${await schools.api.platform.userToken()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ mode: 'atomic', items: THREE }),
  });
  const lines = (await response.text()).trimEnd().split('\n');
  t.is(response.headers.get('content-type'), 'application/x-ndjson; charset=utf-8');
  t.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      ...THREE.map(({ id, input }, index) => ({ index, status: 200, output: { id, ...input } })),
      { succeeded: 3, failed: 0 },
    ],
  );
});

test('if the caller disconnects, the bulk is rolled back', async (t) => {
  const schools = await serveSchools(t, sqlite, await sqlite.empty());
  const { api } = schools;
  const second = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let signal!: AbortSignal;
  schools.before = async (call) => {
    ({ signal } = call);
    if (call.id === 'c') t.fail('went on');
    if (call.id !== 'b') return;
    second.resolve();
    await release.promise;
  };
  const headers = {
    authorization: `Bearer ${await api.platform.userToken()}`,
    'content-type': 'application/json',
  };
  const outgoing = send(`${api.origin}/api/v1${RENAME}`, { method: 'POST', headers });
  outgoing.on('error', () => {});
  outgoing.end(JSON.stringify({ mode: 'atomic', items: THREE }));
  await second.promise;
  outgoing.destroy();
  await once(signal, 'abort');
  release.resolve();
  t.deepEqual(await schools.names(), ['A', 'B', 'C']);
  t.deepEqual(api.platform.log, []);
});

test('an action or storage that cannot roll back answers atomic bulks with an error', async (t) => {
  const { rename, ran } = schoolActions();
  const address = await sqlite.empty();
  const { api } = await serveSchools(t, sqlite, address);
  const withDatabase = Object.freeze({ ...rename, database: {} });
  const servers = [
    await serveApi(t, { storage: knexStorage(address), actions: [rename] }),
    await serveApi(t, { storage: memoryStorage(), actions: [withDatabase] }),
  ];
  for (const { post } of servers) {
    for (const dryRun of [false, true]) {
      const { status, body } = await post(RENAME, { mode: 'atomic', dryRun, items: THREE });
      t.is(status, 422);
      t.is(body['code'], 'atomic_unsupported');
      t.is(body['message'], 'This action cannot be rolled back. Send the items with the mode "independent".');
    }
  }
  t.deepEqual(ran, []);
  t.is((await api.post(RENAME, { mode: 'atomic', items: THREE })).status, 200);
});
