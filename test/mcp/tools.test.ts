import test from '../harness/test.ts';
import { ConfigError, defineAction } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { like } from '../harness/like.ts';
import { around } from '../harness/storage.ts';
import { callTool, connect, gate, GENERATIONS, startAgentServer, toolOf } from './agents.ts';

const KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'A new UUID for each change. Send the same one when you repeat a call whose result you did not get: it is then done once.',
};

/** The mistake of an argument that a tool does not have. */
function unknown(name: string, names: string): string {
  return `#/${name}: There is no such argument; the arguments are ${names}, idempotencyKey.`;
}

for (const [revision, mode] of GENERATIONS) {
  test(`${revision}: a client lists the tools and calls them`, async (t) => {
    const server = await startAgentServer(t);
    const client = await connect(t, server, await server.token(), mode);
    t.is(client.getNegotiatedProtocolVersion(), revision);
    t.deepEqual(client.getServerVersion(), { name: 'Schools for agents', version: '1' });

    const { tools } = await client.listTools();
    t.deepEqual(
      tools.map(({ name }) => name),
      ['rename_school', 'school_list', 'create_school', 'close_school', 'school_break'],
    );
    t.deepEqual(tools[0]?.inputSchema, {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 255, description: 'The id of the school.' },
        input: {
          type: 'object',
          properties: { name: { type: 'string', pattern: String.raw`^\S(?:.{0,98}\S)?$` } },
          required: ['name'],
        },
        idempotencyKey: KEY,
      },
      required: ['id', 'input'],
      additionalProperties: false,
    });

    const renamed = await client.callTool({
      name: 'rename_school',
      arguments: { id: '1', input: { name: 'Dale School' } },
    });
    t.deepEqual(renamed.structuredContent, { id: '1', name: 'Dale School' });
    t.deepEqual(renamed.content, [{ type: 'text', text: '{"id":"1","name":"Dale School"}' }]);
    t.is(server.schools.all.get('1'), 'Dale School');

    // A client of 2025 expects an object as structured content.
    const listed = await client.callTool({ name: 'school_list', arguments: {} });
    const data = [
      { id: '1', name: 'Dale School' },
      { id: '2', name: 'Lake School' },
    ];
    t.deepEqual(listed.structuredContent, mode === 'legacy' ? { result: data } : data);
    t.deepEqual(listed.content, [{ type: 'text', text: JSON.stringify(data) }]);
  });

  test(`${revision}: mistakes in the arguments, and the error of an action, are a result that says what is wrong; an unknown tool is an error of the protocol`, async (t) => {
    const server = await startAgentServer(t);
    const client = await connect(t, server, await server.token(), mode);
    const wrongId = '#/id: An id has 1 to 255 characters, and no control characters.';
    for (const [name, given, ...mistakes] of [
      [
        'rename_school',
        { id: '1', input: { name: '' } },
        '#/input/name: Give 1 to 100 characters on one line.',
      ],
      ['rename_school', { input: { name: 'Dale' } }, wrongId],
      [
        'rename_school',
        { id: 'a\u0001', name: 'Dale', idempotencyKey: 'ä' },
        unknown('name', 'id, input'),
        wrongId,
        '#/idempotencyKey: Send 1 to 255 visible ASCII characters, such as a UUID.',
      ],
      ['create_school', { id: '1', input: { name: 'Dale' } }, unknown('id', 'input')],
      ['create_school', {}, '#/input/name: Invalid input: expected string, received undefined'],
      ['school_list', { input: 'all' }, '#/input: Invalid input: expected object, received string'],
    ] as const) {
      const { content, isError } = await client.callTool({ name, arguments: given });
      const text = ['The arguments do not match the input schema of the tool:', ...mistakes].join('\n');
      t.deepEqual({ content, isError }, { content: [{ type: 'text', text }], isError: true });
    }
    t.deepEqual(server.schools.ran, []);

    const rename = { id: '9', input: { name: 'Dale School' } };
    const refused = await client.callTool({ name: 'rename_school', arguments: rename });
    t.true(refused.isError);
    t.deepEqual(refused.content, [{ type: 'text', text: 'There is no school with this id.' }]);
    t.is(refused.structuredContent, undefined);
    for (const name of ['hide_school', 'school/list', '']) {
      await t.throwsAsync(client.callTool({ name, arguments: {} }), {
        code: -32_602,
        message: `There is no tool ${name}.`,
      } as object);
    }
  });
}

/** What the agent is told of a fault. */
function faultOf(reference: string | null): object {
  const text = `Something went wrong on the server. Give the reference when you report it.\nReference: ${reference}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

test('a fault of an action is logged, and its result has only the reference to the log line', async (t) => {
  const server = await startAgentServer(t);
  const { headers, text } = await callTool(server, await server.token(), 'school_break');
  const reference = headers.get('x-request-id');
  like(t, JSON.parse(text).result, faultOf(reference));
  t.false(text.includes('hunter2'));
  const line = server.logger.lines.find(({ message }) => message === 'api request failed');
  t.like(line, { level: 'error', fields: { request_id: reference, action: 'school/break-action' } });
});

test('the text of an unexpected error does not reach the agent', async (t) => {
  const storage = around(memoryStorage(), async (name, call) => {
    if (name.startsWith('idempotency.')) throw new Error('the password is hunter2');
    return call();
  });
  const server = await startAgentServer(t, { schools: toolOf(() => 'done'), storage });
  const token = await server.token();
  const given = { idempotencyKey: 'a' };
  const { headers, status, text } = await callTool(server, token, 'school_try', given);
  t.is(status, 200);
  const reference = headers.get('x-request-id');
  like(t, JSON.parse(text).result, faultOf(reference));
  t.false(text.includes('hunter2'));
  const client = await connect(t, server, token, 'legacy');
  const answer = await client.callTool({ name: 'school_try', arguments: given });
  t.false(JSON.stringify(answer).includes('hunter2'));
  const lines = server.logger.lines.filter(({ message }) => message === 'api request failed');
  t.is(lines.length, 2);
  t.like(lines[0], { level: 'error', fields: { request_id: reference } });
});

test('the list is private, may be kept for a minute, and says what each tool changes; tools that change nothing have no key', async (t) => {
  const server = await startAgentServer(t);
  const client = await connect(t, server, await server.token());
  const { cacheScope, tools, ttlMs } = await client.listTools();
  t.deepEqual({ cacheScope, ttlMs }, { cacheScope: 'private', ttlMs: 60_000 });
  const list = tools.find(({ name }) => name === 'school_list');
  t.deepEqual(Object.keys(list!.inputSchema.properties!), ['input']);

  // What an action does not say counts as destructive and open-world.
  const hints = tools.map(({ annotations, name }) => [name, ...Object.values(annotations!)]);
  t.deepEqual(
    Object.keys(tools[0]!.annotations!),
    ['readOnly', 'destructive', 'idempotent', 'openWorld'].map((name) => `${name}Hint`),
  );
  t.deepEqual(hints, [
    ['rename_school', false, true, true, true],
    ['school_list', true, false, true, true],
    ['create_school', false, false, false, true],
    ['close_school', false, true, false, true],
    ['school_break', false, true, false, true],
  ]);
});

const TREE = {
  gate,
  type: 'tree',
  level: 'collection',
  title: 'Plant a tree',
  permission: 'edit_schools',
  mcp: true,
  output: z.null(),
  run: () => null,
} as const;

test('references in a schema keep their target', async (t) => {
  const Tree = z.object({
    name: z.string(),
    get children() {
      return z.array(Tree);
    },
  });
  const Part = z.object({ label: z.string() }).meta({ id: 'Part' });
  const actions = [
    defineAction({ ...TREE, name: 'plant-tree-action', input: Tree.extend({ parts: z.array(Part) }) }),
    defineAction({ ...TREE, name: 'copy-tree-action', input: Tree }),
  ];
  const server = await startAgentServer(t, { schools: { all: new Map(), ran: [], actions } });
  const client = await connect(t, server, await server.token());
  const { tools } = await client.listTools();
  for (const { inputSchema: schema } of tools) {
    const texts = JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g);
    const targets = Array.from(texts, ([, reference]) =>
      reference!
        .slice('#/'.length)
        .split('/')
        .reduce<unknown>((part, step) => (part as Record<string, unknown>)[step], schema),
    );
    t.true(targets.length > 0);
    // Not the root, which has no schema of a name.
    for (const target of targets)
      t.regex(
        JSON.stringify(target),
        /^\{"type":"(?:array","items":\{"type":")?object","properties":\{"(?:name|label)"/,
      );
  }
  const result = await client.callTool({
    name: 'plant_tree',
    arguments: { input: { name: 'a', children: [], parts: [{ label: 'b' }] } },
  });
  t.is(result.structuredContent, null);
});

function nameOf(type: string, name: `${string}-action`, mcp: unknown): string | undefined {
  return defineAction({ ...TREE, type, name, input: z.object({}), mcp: mcp as boolean }).mcp;
}

test('the name of a tool is that of its action, with the type in front unless it is part of it', (t) => {
  t.is(nameOf('school', 'rename-school-action', true), 'rename_school');
  t.is(nameOf('school', 'import-schools-action', true), 'import_schools');
  t.is(nameOf('school-year', 'close-action', true), 'school_year_close');
  t.is(nameOf('school', 'close-action', 'Shut-it_2'), 'Shut-it_2');
  t.is(nameOf('school', 'close-action', false), undefined);
  for (const mcp of ['', 'a.b', 'a/b', 'ä', 'a'.repeat(65), 5]) {
    t.throws(() => nameOf('school', 'close-action', mcp), {
      instanceOf: ConfigError,
      message:
        "close-action.mcp: give true, or a name of 1 to 64 letters, digits, _ and -, such as 'rename_school'",
    });
  }
  const long = `${'a'.repeat(60)}-action` as const;
  t.throws(() => nameOf('school', long, true), {
    message: `${long}.mcp: school_${'a'.repeat(60)} is longer than 64 characters: give a name, such as mcp: 'rename_school'`,
  });
});
