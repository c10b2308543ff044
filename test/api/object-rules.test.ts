/** Permissions with a rule: what routes, actions and tools do with the object that the rule decides about. */
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import {
  ActionError,
  ConfigError,
  createApiRouter,
  createAuthServer,
  defineAction,
  defineGate,
} from 'koa-gatehouse';
import type { AuthServer, User } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { issueToken, testServer } from 'koa-gatehouse/testing';
import { z } from 'zod';

import { openHost } from '../adapters/host-knex.ts';
import { sqlite } from '../adapters/databases.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { callTool } from '../mcp/agents.ts';
import { koaApp } from '../harness/serve.ts';
import type { Middleware } from 'koa';

interface School {
  readonly id: string;
  readonly registrarId: string;
  readonly name: string;
}

const gate = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_school: { description: 'Edit a school', message: 'Only its registrar edits a school.' },
  },
  rules: {
    edit_school: ({ user }, { registrarId }: Pick<School, 'registrarId'>) => user?.id === registrarId,
  },
});
const ISSUER = 'https://platform.example';
const MCP = `${ISSUER}/mcp`;
const ann = { id: 'ann', permissions: ['view_schools', 'edit_school'] } as const;
const bob = { id: 'bob', permissions: ['view_schools'] } as const;

interface Schools {
  readonly auth: AuthServer;
  readonly origin: string;
  /** How often an object was loaded, and the ids for which an action or a route ran. */
  readonly loaded: string[];
  readonly ran: string[];
  readonly names: () => Promise<readonly string[]>;
  readonly call: (path: string, init?: { method?: string; body?: object; as?: User }) => Promise<Answer>;
}

/** A platform where Ann is the registrar of two schools of four, and Bob may only view them. */
async function start(t: ExecutionContext): Promise<Schools> {
  const database = openHost(t, 'better-sqlite3', await sqlite.empty());
  await database.schema.createTable('schools', (table) => {
    table.string('id', 60).primary();
    table.string('registrarId', 60).notNullable();
    table.string('name', 60).notNullable();
  });
  const rows = ['a:ann', 'b:ann', 'c:cleo', 'd:cleo'].map((row) => row.split(':') as [string, string]);
  await database('schools').insert(rows.map(([id, registrarId]) => ({ id, registrarId, name: id })));
  const loaded: string[] = [];
  const ran: string[] = [];
  const School = z.object({ id: z.string(), name: z.string() });
  const common = { gate, type: 'school', permission: 'edit_school', mcp: true, output: School } as const;
  const input = z.object({ name: z.string() });
  const rename = defineAction({
    ...common,
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    input,
    database,
    async object(call) {
      loaded.push(call.id);
      if (call.id === 'gone') throw new ActionError(410, 'school_closed', 'The school was closed.');
      return call.database<School>('schools').where({ id: call.id }).first();
    },
    async run(call) {
      const { id } = call.object;
      ran.push(id);
      await call.database('schools').where({ id }).update(call.input);
      return { ...call.object, ...call.input };
    },
  });
  const create = defineAction({
    ...common,
    name: 'create-school-action',
    level: 'collection',
    title: 'Create a school',
    input: input.extend({ registrarId: z.string() }),
    object: (call) => (call.input.name === 'None' ? null : { registrarId: call.input.registrarId }),
    run(call) {
      ran.push(call.object.registrarId);
      return { id: 'e', name: call.input.name };
    },
  });
  const actions = [rename, create];
  const server = await testServer({
    issuer: ISSUER,
    gate,
    users: [ann, bob],
    storage: knexStorage(database),
    migrate: true,
    scopes: { read: { description: 'Read', permissions: ['view_schools'] } },
    resources: { [MCP]: { name: 'Schools' } },
    async app(auth) {
      const api = createApiRouter({ auth, actions });
      api.put(
        '/schools/:id',
        auth.requires('view_schools', 'edit_school', async ({ params: { id = '' } }) => {
          loaded.push(id);
          if (id === 'none') return null;
          return database<School>('schools').where({ id }).first();
        }),
        (ctx) => {
          ran.push(ctx.state.object.id);
          ctx.body = { data: ctx.state.object };
        },
      );
      return koaApp(
        auth.middleware(),
        api.routes() as Middleware,
        await createMcpEndpoint({ auth, actions }),
      );
    },
  });
  t.teardown(server.close);
  return {
    auth: server.auth as unknown as AuthServer,
    origin: server.origin,
    loaded,
    ran,
    names: async () => database('schools').orderBy('id').pluck('name'),
    async call(path, { as = ann, body, ...init } = {}) {
      const token = await issueToken(server.auth, { user: as });
      return send(`${server.origin}/api/v1${path}`, {
        ...init,
        ...(body && { body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      });
    },
  };
}

const REFUSED = {
  status: 403,
  body: { code: 'missing_permission', message: 'Only its registrar edits a school.' },
};

test('a route loads the object once, asks the rule, and hands the object on', async (t) => {
  const { call, loaded, ran } = await start(t);
  const put = { method: 'PUT', body: {} };
  t.like(await call('/schools/a', put), { status: 200, body: { data: { id: 'a', registrarId: 'ann' } } });
  t.like(await call('/schools/c', put), REFUSED);
  t.like(await call('/schools/x', put), {
    status: 404,
    body: { code: 'object_not_found', message: 'There is no such object.' },
  });
  t.is((await call('/schools/none', put)).status, 404);
  t.deepEqual(ran, ['a']);
  t.deepEqual(loaded, ['a', 'c', 'x', 'none']);
  t.like(await call('/schools/a', { ...put, as: bob }), REFUSED);
  t.is(loaded.length, 4, 'nothing is loaded for a caller without the permission');
});

test('an action loads the object with its database, asks the rule, and runs with it', async (t) => {
  const { call, loaded, names, ran } = await start(t);
  const rename = async (id: string, as: User = ann) =>
    call(`/actions/school/${id}/rename-school-action`, { method: 'POST', body: { name: 'New' }, as });
  t.like(await rename('a'), { status: 200, body: { data: { id: 'a', name: 'New' } } });
  t.like(await rename('c'), REFUSED);
  t.like(await rename('x'), {
    status: 404,
    body: { code: 'object_not_found', message: 'There is no school with this id.' },
  });
  t.like(await rename('gone'), { status: 410, body: { code: 'school_closed' } });
  t.deepEqual(loaded, ['a', 'c', 'x', 'gone']);
  t.like(await rename('a', bob), REFUSED);
  t.is(loaded.length, 4);
  t.deepEqual(await names(), ['New', 'b', 'c', 'd']);
  t.deepEqual(ran, ['a']);
});

test('an action of a collection makes the object of its input', async (t) => {
  const { call, ran } = await start(t);
  const create = async (body: object) =>
    call('/actions/school/create-school-action', { method: 'POST', body });
  t.is((await create({ name: 'New', registrarId: 'ann' })).status, 200);
  t.like(await create({ name: 'New', registrarId: 'cleo' }), REFUSED);
  t.like(await create({ name: 'None', registrarId: 'ann' }), {
    status: 404,
    body: { code: 'object_not_found', message: 'There is no such object.' },
  });
  t.deepEqual(ran, ['ann']);
});

test('a bulk asks the rule for each item, a dry run too; an atomic one in its transaction', async (t) => {
  const { call, names, ran } = await start(t);
  const items = ['a', 'c', 'x', 'b'].map((id) => ({ id, input: { name: `New ${id}` } }));
  const bulk = async (body: object) =>
    call('/actions/school/rename-school-action/bulk', { method: 'POST', body });
  const results = {
    1: { status: 403, problem: REFUSED.body },
    2: { status: 404, problem: { code: 'object_not_found' } },
  };
  const dry = await bulk({ dryRun: true, items });
  t.like(dry.body?.['data'], {
    succeeded: 2,
    failed: 2,
    results: { 0: { status: 200 }, 3: { status: 200 }, ...results },
  });
  t.deepEqual(ran, []);

  const atomic = await bulk({ mode: 'atomic', items });
  t.like(atomic, { status: 403, body: { code: 'bulk_rolled_back', index: 1, problem: REFUSED.body } });
  t.deepEqual(await names(), ['a', 'b', 'c', 'd']);

  ran.length = 0;
  t.like((await bulk({ items })).body?.['data'], { succeeded: 2, failed: 2, results });
  t.deepEqual(ran.toSorted(), ['a', 'b']);
  t.deepEqual(await names(), ['New a', 'New b', 'c', 'd']);

  const own = items.filter(({ id }) => id === 'a' || id === 'b');
  t.is((await bulk({ mode: 'atomic', items: own })).status, 200);
});

const textOf = ({ body }: Answer): string =>
  (body as { result: { content: [{ text: string }] } }).result.content[0].text;

test('a tool asks the rule, and its result says why it did not run', async (t) => {
  const { auth, origin, ran } = await start(t);
  const token = await issueToken(auth, { user: ann, resource: MCP });
  const rename = async (id: string) =>
    callTool({ url: `${origin}/mcp` }, token, 'rename_school', { id, input: { name: 'New' } });
  t.like(await rename('a'), {
    status: 200,
    body: { result: { structuredContent: { id: 'a', name: 'New' } } },
  });
  const refused = await rename('c');
  t.like(refused, { status: 200, body: { result: { isError: true } } });
  t.is(textOf(refused), 'Only its registrar edits a school.');
  t.is(textOf(await rename('x')), 'There is no school with this id.');
  t.deepEqual(ran, ['a']);
});

test('the list of actions says which of them depend on the object', async (t) => {
  const { call } = await start(t);
  const { body } = await call('/actions');
  t.like(body?.['data'], {
    0: { name: 'rename-school-action', checksObject: true },
    1: { name: 'create-school-action', checksObject: true },
  });
  t.deepEqual((await call('/actions', { as: bob })).body, { data: [] });
});

test('observers are told of each refusal', async (t) => {
  const { auth, call } = await start(t);
  const codes: string[] = [];
  auth.observe({
    guarded(outcome) {
      if (!outcome.admitted) codes.push(outcome.code);
    },
  });
  const refused = async (path: string, method: string, as: User) => {
    codes.length = 0;
    t.like(await call(path, { method, body: { name: 'New' }, as }), REFUSED);
    t.deepEqual(codes, ['missing_permission'], path);
  };
  await refused('/schools/a', 'PUT', bob);
  await refused('/schools/c', 'PUT', ann);
  await refused('/actions/school/a/rename-school-action', 'POST', bob);
});

test('a rule that no object is given for, or an object without a rule, is a ConfigError with the remedy', async (t) => {
  const storage = memoryStorage();
  const users = { verifyPassword: async () => undefined, find: async () => undefined };
  const auth = (await createAuthServer({ issuer: ISSUER, users, storage, gate })) as unknown as AuthServer;
  t.teardown(async () => auth.close());
  const school = { registrarId: 'ann' };
  const fails = (make: () => unknown, message: string) =>
    t.throws(make, { instanceOf: ConfigError, message });
  fails(
    () => auth.requires('view_schools', 'edit_school'),
    "requires('edit_school'): the rule gate.rules.edit_school decides about an object: return it from a function, as in requires('edit_school', (ctx) => findSchool(ctx.params.id)); for a list, ask principal.can('edit_school', object) for each object instead",
  );
  fails(
    () => auth.requires('view_schools', () => school),
    "requires('view_schools', object): the permission has no rule; add gate.rules.view_schools, or leave the function out",
  );
  fails(
    () => Reflect.apply(auth.requires, undefined, [() => school]),
    'requires(): name at least one permission; a route for every caller needs the guard only',
  );

  const definition = {
    type: 'school',
    name: 'close-school-action',
    level: 'instance',
    title: 'Close',
    input: z.object({}),
    output: z.null(),
    run: () => null,
  } as const;
  const unruled =
    'close-school-action.object: the permission view_schools has no rule; add gate.rules.view_schools, or load the object in run';
  const ruled =
    "close-school-action.object: the rule gate.rules.edit_school decides about an object: load it, as in object: ({ id, database }) => database('schools').where({ id }).first()";
  for (const [permission, object, message] of [
    ['edit_school', undefined, ruled],
    ['view_schools', () => school, unruled],
  ] as const) {
    // With the gate, when the action is defined; else when it becomes part of an API.
    const given = { ...definition, permission, ...(object && { object }) };
    fails(() => Reflect.apply(defineAction, undefined, [{ ...given, gate }]), message);
    const action = defineAction(given);
    fails(() => createApiRouter({ auth, actions: [action] }), message);
  }
  fails(
    () => defineAction({ ...definition, permission: 'edit_school', object: 'school' as never }),
    'close-school-action.object: make it a function that returns the object',
  );
});
