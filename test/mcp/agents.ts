import type { RequestListener } from 'node:http';

import type { ExecutionContext } from 'ava';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { VersionNegotiationMode } from '@modelcontextprotocol/client';
import { ActionError, createAuthServer, defineAction, defineGate } from 'koa-gatehouse';
import type { Action, AuthServer, AuthServerOptions, Gate, Scope, Storage, User } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { z } from 'zod';

import { recordingLogger, startPlatform } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { endWith } from '../harness/serve.ts';

export type Permission = 'view_schools' | 'edit_schools' | 'close_schools' | 'manage_schools';

export const gate: Gate<Permission> = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: 'Edit schools',
    close_schools: 'Close schools',
    manage_schools: 'Manage schools',
  },
});

const School = z.object({ id: z.string(), name: z.string().min(1) });
const Name = z.string().regex(/^\S(?:.{0,98}\S)?$/u, 'Give 1 to 100 characters on one line.');

export interface Schools {
  readonly all: Map<string, string>;
  /** The names of the actions that ran, in order. */
  readonly ran: string[];
  readonly actions: readonly Action<Permission>[];
}

/** Schools in memory, and actions on them. All but one are tools. */
export function createSchools(): Schools {
  const all = new Map([
    ['1', 'Hill School'],
    ['2', 'Lake School'],
  ]);
  const ran: string[] = [];
  const common = { gate, type: 'school', mcp: true, output: School } as const;
  const ofType = { ...common, level: 'collection', input: z.object({}) } as const;
  const ofSchool = { ...common, level: 'instance', input: z.object({}) } as const;
  const input = z.object({ name: Name });
  return {
    all,
    ran,
    actions: [
      defineAction({
        ...ofSchool,
        name: 'rename-school-action',
        title: 'Rename a school',
        description: 'Gives a school another name.',
        permission: 'edit_schools',
        idempotent: true,
        input,
        run({ id, input: { name } }) {
          ran.push('rename');
          if (!all.has(id))
            throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
          all.set(id, name);
          return { id, name };
        },
      }),
      defineAction({
        ...ofType,
        name: 'list-action',
        title: 'List schools',
        permission: 'view_schools',
        readOnly: true,
        output: z.array(School),
        run() {
          ran.push('list');
          return [...all].map(([id, name]) => ({ id, name }));
        },
      }),
      defineAction({
        ...ofType,
        name: 'create-school-action',
        title: 'Create a school',
        permission: 'edit_schools',
        mcp: 'create_school',
        destructive: false,
        input,
        run({ input: { name } }) {
          ran.push('create');
          const id = String(all.size + 1);
          all.set(id, name);
          return { id, name };
        },
      }),
      defineAction({
        ...ofSchool,
        name: 'close-school-action',
        title: 'Close a school',
        permission: 'close_schools',
        run({ id, principal }) {
          ran.push('close');
          gate.authorize(principal, 'manage_schools');
          return { id, name: all.get(id) ?? '' };
        },
      }),
      defineAction({
        ...ofType,
        name: 'break-action',
        title: 'Fail',
        permission: 'view_schools',
        run() {
          throw new Error('the password is hunter2');
        },
      }),
      defineAction({
        ...ofSchool,
        name: 'hide-school-action',
        title: 'Hide a school',
        permission: 'edit_schools',
        mcp: false,
        run: ({ id }) => ({ id, name: 'hidden' }),
      }),
    ],
  };
}

/** The same without the one that fails, which is no tool that only reads. */
export function schoolsWithoutFailure(): Schools {
  const schools = createSchools();
  return { ...schools, actions: schools.actions.filter(({ name }) => name !== 'break-action') };
}

export interface Person extends User {
  permissions: readonly Permission[];
}

const ALL: readonly Permission[] = ['view_schools', 'edit_schools', 'close_schools', 'manage_schools'];

/** The scopes of the endpoint. */
const SCOPES = {
  read: { description: 'See schools', permissions: ['view_schools'] },
  write: { description: 'Change schools', permissions: ['view_schools', 'edit_schools'] },
  close: { description: 'Close schools', permissions: ['close_schools'] },
  manage: { description: 'Manage schools', permissions: ['manage_schools'] },
} as const;

export interface AgentServer {
  readonly origin: string;
  /** The URL of the endpoint. */
  readonly url: string;
  readonly auth: AuthServer<typeof gate, Person>;
  readonly person: Person;
  readonly schools: Schools;
  readonly logger: ReturnType<typeof recordingLogger>;
  readonly clientId: string;
  /** A token of the person for the endpoint. @default all scopes */
  token(scopes?: readonly string[]): Promise<string>;
}

/** A tool of its own, `school_try`, at collection level. */
export function toolOf(run: () => unknown): Schools {
  const action = defineAction({
    gate,
    type: 'school',
    name: 'try-action',
    level: 'collection',
    title: 'Try',
    permission: 'view_schools',
    mcp: true,
    input: z.object({}),
    output: z.unknown(),
    run,
  });
  return { all: new Map(), ran: [], actions: [action] };
}

type EndpointOptions = Partial<
  Omit<Parameters<typeof createMcpEndpoint<Permission, User>>[0], 'auth' | 'actions' | 'resource'>
>;

/** Makes the app of an agent server. */
export type AgentApp = (parts: {
  readonly auth: AgentServer['auth'];
  readonly actions: readonly Action<Permission>[];
  /** What the test gives of the options of the endpoint. */
  readonly given: EndpointOptions;
}) => Promise<RequestListener>;

/** Starts a server with an API and its tools until the test ends. */
export async function startAgentServer(
  t: ExecutionContext,
  {
    schools = createSchools(),
    scopes = SCOPES,
    storage = memoryStorage(),
    options = {},
    app,
    create = createAuthServer,
    ...given
  }: {
    schools?: Schools;
    scopes?: Readonly<Record<string, Scope<Permission>>>;
    storage?: Storage;
    app?: AgentApp;
    create?: typeof createAuthServer;
    options?: Pick<AuthServerOptions, 'features' | 'limits' | 'tokens'>;
  } & EndpointOptions = {},
): Promise<AgentServer> {
  const person: Person = { id: 'ann', name: 'Ann', email: 'ann@school.example', permissions: ALL };
  const { actions } = schools;
  let url = '';
  const server = {
    users: {
      verifyPassword: async (_login: string, password: string) =>
        password === 'correct horse' ? person : undefined,
      find: async (id: string) => (id === person.id ? person : undefined),
      permissions: async (user: Person) => user.permissions,
    },
    storage,
    gate,
    scopes,
    get resources() {
      return { [url]: { name: 'Schools for agents', scopes } };
    },
  };
  const { auth, logger, origin } = endWith(
    t,
    // The gate and the users of the harness are others.
    await startPlatform(Object.assign(server, options) as never, {
      create,
      inFront(made) {
        url = `${made}${given.path ?? '/mcp'}`;
        return made;
      },
      api: { actions, limits: given.limits ?? {} } as never,
      behind: async (parts) => [
        await createMcpEndpoint({ auth: parts.auth as unknown as AgentServer['auth'], actions, ...given }),
      ],
      ...(app && { app: async (parts) => app({ auth: parts.auth as never, actions, given }) }),
    }),
  );
  const { client } = await auth.clients.create({
    name: 'Agent',
    grantType: 'authorization_code',
    redirectUris: ['https://agent.example/callback'],
  });
  return {
    origin,
    url,
    auth: auth as unknown as AgentServer['auth'],
    person,
    schools,
    logger,
    clientId: client.id,
    token: async (names = Object.keys(scopes)) =>
      auth.issueToken({ clientId: client.id, userId: person.id, resource: url, scopes: names }),
  };
}

/** Connects the client of the SDK. `legacy`: it speaks a revision of 2025. */
export async function connect(
  t: ExecutionContext,
  { url }: Pick<AgentServer, 'url'>,
  token: string,
  mode: VersionNegotiationMode = { pin: '2026-07-28' },
): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  t.teardown(async () => client.close());
  return client;
}

/** Both generations of clients. */
export const GENERATIONS: readonly (readonly [string, VersionNegotiationMode])[] = [
  ['2026-07-28', { pin: '2026-07-28' }],
  ['2025-11-25', 'legacy'],
];

interface Message {
  readonly jsonrpc: string;
  readonly id: number;
  readonly method: string;
  readonly params: { readonly _meta: object };
}

/** The body of a request of the revision 2026-07-28. */
export function message(method: string, params: object = {}, version = '2026-07-28'): Message {
  return {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
}

/** Posts a message, as a client of the revision 2026-07-28 does, with other header fields. */
export async function post(
  { url }: Pick<AgentServer, 'url'>,
  token: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { method, params } = (typeof body === 'object' && body !== null ? body : {}) as {
    method?: string;
    params?: { name?: string };
  };
  return send(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      ...(method === undefined ? {} : { 'mcp-method': method }),
      ...(params?.name === undefined ? {} : { 'mcp-name': params.name }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** Calls a tool, and returns the answer over HTTP. */
export async function callTool(
  server: Pick<AgentServer, 'url'>,
  token: string,
  name: string,
  given: object = {},
): Promise<Answer> {
  return post(server, token, message('tools/call', { name, arguments: given }));
}

/** Runs the action of the tool `create_school` by the API. */
export async function createOverHttp(
  { auth, clientId, origin, person }: AgentServer,
  input: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const authorization = `Bearer ${await auth.issueToken({ clientId, userId: person.id })}`;
  const url = `${origin}/api/v1/actions/school/create-school-action`;
  return postJson(url, input, { authorization, ...headers });
}
