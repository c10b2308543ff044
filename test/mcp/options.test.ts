import { agents } from 'koa-gatehouse';
import test from '../harness/test.ts';
import { ConfigError, createAuthServer, defineAction } from 'koa-gatehouse';
import type { Action, AuthServer, AuthServerOptions, Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { z } from 'zod';

import { recordingLogger } from '../harness/platform.ts';
import { createSchools, gate } from './agents.ts';
import type { Permission } from './agents.ts';

const ISSUER = 'https://platform.example';

async function serverWith(
  resources?: AuthServerOptions<Permission>['resources'],
  issuer = ISSUER,
  {
    storage = memoryStorage(),
    ...more
  }: { storage?: Storage } & Pick<AuthServerOptions, 'features' | 'logger'> = {},
): Promise<AuthServer<typeof gate>> {
  return createAuthServer({
    issuer,
    users: { verifyPassword: async () => undefined, find: async () => undefined },
    storage,
    interactions: () => ({ middleware: async () => {}, error: async () => {} }),
    gate,
    ...(resources && { resources }),
    ...more,
  });
}

const { actions } = createSchools();

const remedy = (url: string): string =>
  `resource: name the endpoint in the option resources of createAuthServer(), so that tokens can be issued for it: resources: { '${url}': { name: 'Schools for agents', scopes: { ... } } }`;

test('an endpoint that the option resources does not name is a ConfigError with the remedy', async (t) => {
  const [ofMcp, below] = [{ [`${ISSUER}/mcp`]: {} }, { [`${ISSUER}/auth/mcp`]: {} }];
  const elsewhere = { 'https://agents.example/tools': {} };
  for (const [resources, options, missing, issuer] of [
    [undefined, {}, `${ISSUER}/mcp`],
    [{}, {}, `${ISSUER}/mcp`],
    [{ [`${ISSUER}/mcp/`]: {} }, {}, `${ISSUER}/mcp`],
    [ofMcp, { path: '/tools' }, `${ISSUER}/tools`],
    // The default API: its tokens would be those of /api/v1.
    [ofMcp, { path: '/mcp', resource: ISSUER }, ISSUER],
    [below, {}, undefined, `${ISSUER}/auth`],
    [elsewhere, { resource: 'https://agents.example/tools' }, undefined],
  ] as const) {
    const auth = await serverWith(resources, issuer);
    const creating = createMcpEndpoint({ auth, actions, ...options });
    if (missing === undefined) await t.notThrowsAsync(creating);
    else await t.throwsAsync(creating, { instanceOf: ConfigError, message: remedy(missing) });
  }
});

test('a server that admits no agents is warned about at the start, with the line to add', async (t) => {
  for (const [features, warnings] of [
    [[], 1],
    [[agents()], 0],
    [[agents({ registration: { scopes: [] }, documents: false })], 0],
    [[agents({ documents: { scopes: [] }, registration: false })], 0],
  ] as const) {
    const logger = recordingLogger();
    const scopes = { read: { description: 'See schools', permissions: ['view_schools'] } } as const;
    const auth = await serverWith({ [`${ISSUER}/mcp`]: { scopes } }, ISSUER, { features, logger });
    await createMcpEndpoint({ auth, actions });
    const found = logger.lines.filter(({ level }) => level === 'warn');
    t.is(found.length, warnings, JSON.stringify(features));
    if (warnings === 0) continue;
    t.is(found[0]!.message, 'no agent can connect unless somebody registers it');
    t.like(found[0]!.fields, { path: '/mcp', remedy: 'features: [agents()]' });
  }
});

function plain(name: `${string}-action`, more: object = {}): Action<Permission> {
  return defineAction({
    gate,
    type: 'school',
    name,
    level: 'collection',
    title: 'x',
    permission: 'view_schools',
    input: z.object({}),
    output: z.null(),
    run: () => null,
    ...more,
  });
}

test('a wrong option is a ConfigError that names it', async (t) => {
  const auth = await serverWith({ [`${ISSUER}/mcp`]: {} });
  const tools = [plain('close-action', { mcp: 'close' }), plain('shut-action', { mcp: 'close' })];
  const path = "give a path with a leading and no trailing slash, such as '/mcp'";
  for (const [option, text, value] of [
    [
      'actions',
      'none of them is a tool: set mcp: true in the definitions of those that agents may run',
      [plain('close-action')],
    ],
    ['actions', 'list the actions in an array: [defineAction({ ... })]', 'all'],
    [
      'actions',
      "school/close-action and school/shut-action are both the tool close: give one another name, such as mcp: 'school_close'",
      tools,
    ],
    ['path', path, 'mcp'],
    ['path', path, '/mcp/'],
    ['maxBodyBytes', 'give a whole number of at least 1', 0],
    ['version', 'give a text, or leave it out', ''],
    ['instructions', 'give a text, or leave it out', 5],
    ['origins', 'give an array of strings', 'https://app.example'],
    ['origins', 'give origins without a path, such as https://app.example', ['https://app.example/']],
    [
      'hosts',
      'give names of hosts in lower case and without ports, such as internal.example',
      ['internal.example:80'],
    ],
    [
      'host',
      'there is no such option; did you mean hosts? The options are auth, actions, path, resource, limits, maxBodyBytes, origins, hosts, instructions, version',
      'a',
    ],
    ['auth', 'pass the server that createAuthServer() resolved to', {}],
  ] as const) {
    await t.throwsAsync(Reflect.apply(createMcpEndpoint, undefined, [{ auth, actions, [option]: value }]), {
      instanceOf: ConfigError,
      message: `${option}: ${text}`,
    });
  }
});

test('a hint that contradicts another, or is no boolean, is a ConfigError', (t) => {
  t.throws(() => plain('close-action', { readOnly: true, destructive: true }), {
    instanceOf: ConfigError,
    message: 'close-action.destructive: it is readOnly too: leave one of them out',
  });
  for (const hint of ['readOnly', 'destructive', 'idempotent']) {
    t.throws(() => plain('close-action', { [hint]: 'no' }), {
      instanceOf: ConfigError,
      message: `close-action.${hint}: pass true or false`,
    });
  }
});
