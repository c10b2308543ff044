import { createApiRouter } from 'koa-gatehouse';
import type { AuthServerOptions, Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { BOTH_SCOPES, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { AppParts, Person, Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import type { Middleware } from 'koa';
import { startTwo } from '../harness/cluster.ts';
import { endWith } from '../harness/serve.ts';
import type { Owner } from '../harness/serve.ts';

/** Two APIs besides the default. Both have a scope `read`, which means something else at each of them. */
export const DOCUMENTS = 'https://documents.example/v1';
export const ARCHIVE = 'https://archive.example';

type Options = Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', Person>>;

export const APIS: Options = {
  scopes: BOTH_SCOPES,
  resources: {
    [DOCUMENTS]: {
      name: 'Documents',
      scopes: {
        read: { description: 'Read your documents', permissions: ['view_schools'] },
        write: { description: 'Write documents', permissions: ['view_schools', 'edit_schools'] },
      },
      lifetimes: { accessToken: '10 minutes', refreshToken: '1 day', refreshTokenAbsolute: '2 days' },
    },
    [ARCHIVE]: { scopes: { read: { description: 'Read the archive', permissions: ['view_schools'] } } },
  },
};

/** An app with the default API, and the two others below `/documents` and `/archive`. */
const behind = ({ auth }: AppParts): readonly Middleware[] =>
  (
    [
      [DOCUMENTS, '/documents'],
      [ARCHIVE, '/archive'],
    ] as const
  ).map(([resource, prefix]) => {
    const router = createApiRouter({ auth, resource, prefix });
    router.get('/list', auth.requires('view_schools'), (ctx) => {
      ctx.body = { data: [] };
    });
    router.get('/both', auth.requires('view_schools', 'edit_schools'), (ctx) => {
      ctx.body = { data: [] };
    });
    router.get('/authorized', (ctx) => {
      auth.gate.authorize(ctx.state.principal, 'edit_schools');
      ctx.body = { data: [] };
    });
    return router.routes() as Middleware;
  });

/** Starts a platform with three APIs, in memory unless it is given a storage. */
export async function startApis(given: Options = {}): Promise<Platform> {
  return startPlatform({ ...APIS, ...given }, { behind });
}

/** Two nodes of one server, as {@link startApis} starts them. */
export async function startNodes(
  owner: Owner,
  storage: Storage = memoryStorage(),
  other = storage,
  options: Parameters<typeof startApis>[0] = {},
): ReturnType<typeof startTwo<Platform>> {
  return startTwo([storage, other], async (node) => endWith(owner, await startApis({ ...options, ...node })));
}

/** Authorizes an app for an API and redeems the code. */
export async function authorizeFor(
  platform: Platform,
  app: RegisteredApp,
  parameters: Record<string, string>,
): Promise<TokenAnswer['body']> {
  const { status, body } = await runCodeFlow(platform, app, { parameters });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

/** The status of a path with a token, and the `code` of a refusal. */
export async function statusOf(platform: Platform, path: string, token?: string): Promise<unknown> {
  const response = await get(platform, path, token);
  const body = (await response.json()) as { code?: string };
  return response.status === 200 ? 200 : [response.status, body.code];
}

export async function get(platform: Platform, path: string, token?: string): Promise<Response> {
  return fetch(platform.url(path), {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
}
