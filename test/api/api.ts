import { request as send } from 'node:http';
import type { ClientRequest } from 'node:http';

import type { ExecutionContext } from 'ava';
import type { Middleware } from 'koa';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { ApiAuth } from '../../lib/api/router.ts';
import { createApiRouter } from '../../lib/api/router.ts';
import type { ApiRouter, ApiRouterOptions } from '../../lib/api/router.ts';
import { clientKindsOf } from '../../lib/features/known.ts';
import { createConcurrencyLimit } from '../../lib/limits/concurrency-limit.ts';
import type { ServerParts } from '../../lib/contracts/server-parts.ts';
import { createPlatform, gate, ISSUER, scopes } from '../access/platform.ts';
import type { Permission, Person, Platform } from '../access/platform.ts';
import { koaApp, serveApp } from '../harness/serve.ts';
import { request } from '../harness/requests.ts';
import type { ApiAnswer } from '../harness/requests.ts';

export interface Api {
  readonly platform: Platform;
  readonly api: ApiRouter<typeof gate, Person>;
  readonly origin: string;
  /** The errors that the app's `error` event received. */
  readonly errors: unknown[];
  /** Sends a request to a path of the API, with a bearer token if one is given. */
  readonly call: (path: string, token?: string, init?: RequestInit) => Promise<ApiAnswer>;
  /** Sends JSON to a path of the API, with a user token unless the header fields have another one. */
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<ApiAnswer>;
  /** The same, and returns the request, so that a test can read its response or disconnect. */
  readonly open: (path: string, body: object, headers?: Record<string, string>) => Promise<ClientRequest>;
}

/** The lines of an answer in NDJSON. */
export function linesOf({ text }: ApiAnswer): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

// Limits are tested with a whole server, in test/api/request-limits.test.ts.
const limitCallers = () => () => {
  throw new Error('No limit is expected');
};

/** The parts of a server that the API router uses, with the platform's guard. */
export function authOf(
  platform: Platform,
  path = '',
  { mountPath = path, storage = memoryStorage() }: Partial<Pick<ServerParts, 'mountPath' | 'storage'>> = {},
): ApiAuth<Permission, Person> {
  const guard = platform.guard();
  const { logger } = platform;
  const described = new Map(Array.from(scopes.keys(), (name) => [name, { description: `May ${name}` }]));
  const issuer = ISSUER + path;
  const resources = new Map([[issuer, { name: issuer, scopes: described }]]);
  const concurrencyLimit = createConcurrencyLimit({ concurrency: 0, bodyTimeout: 30, maxTotalBodyBytes: 0 });
  return {
    issuer,
    gate,
    guard: () => guard,
    parts: {
      admitsAgents: true,
      apis: new Map(),
      tools: new Map(),
      audit: { record() {} },
      concurrencyLimit,
      clientKinds: clientKindsOf([]),
      endpoints: [],
      eventRules: {},
      limitCallers,
      logger,
      mountPath,
      pages: {},
      observers: { guarded: undefined },
      resources,
      sessionCookie: 'gatehouse_session',
      storage,
      trace: async (_name, work) => work(),
      verifierFor: () => async () => ({ status: 401, code: 'token_invalid', detail: 'No tokens here.' }),
    },
  };
}

export interface ServeOptions extends Omit<ApiRouterOptions<Permission, Person>, 'auth'> {
  /** @default that of the platform */
  readonly auth?: ApiAuth<Permission, Person>;
  /** Middleware of the host in front of the API and behind it. */
  readonly before?: readonly Middleware[];
  readonly behind?: readonly Middleware[];
  readonly storage?: ServerParts['storage'];
  readonly platform?: Platform;
  /** Adds routes. */
  readonly extend?: (api: ApiRouter<typeof gate, Person>, platform: Platform) => void;
}

/** Serves an API router in an app of its own. */
export async function serveApi(
  t: ExecutionContext,
  given: ServeOptions | ServeOptions['extend'] = {},
): Promise<Api> {
  const options = typeof given === 'function' ? { extend: given } : given;
  const {
    before = [],
    behind = [],
    extend,
    storage,
    platform = createPlatform(),
    auth = authOf(platform, '', storage && { storage }),
    ...rest
  } = options;
  const api = createApiRouter({ auth, ...rest });
  extend?.(api, platform);
  const errors: unknown[] = [];
  const app = koaApp(...before, api.routes() as Middleware, ...behind);
  app.on('error', (error) => errors.push(error));
  const origin = await serveApp(t, app);
  const fields = { 'content-type': 'application/json' };
  const call: Api['call'] = async (path, token, init) => request(`${origin}/api/v1${path}`, token, init);
  return {
    platform,
    api,
    origin,
    errors,
    call,
    async post(path, body, headers = {}) {
      return call(path, undefined, {
        method: 'POST',
        headers: { ...fields, authorization: `Bearer ${await platform.userToken()}`, ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
    },
    async open(path, body, headers = {}) {
      const authorization = `Bearer ${await platform.userToken()}`;
      const outgoing = send(`${origin}/api/v1${path}`, {
        method: 'POST',
        headers: { ...fields, authorization, ...headers },
      });
      outgoing.on('error', () => {});
      outgoing.end(JSON.stringify(body));
      return outgoing;
    },
  };
}
