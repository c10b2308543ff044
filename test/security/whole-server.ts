import type { ExecutionContext } from 'ava';
import { agents, createApiRouter, defineAction, devices, personalTokens } from 'koa-gatehouse';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import Koa from 'koa';
import { z } from 'zod';

import { startDeveloperPlatform } from '../developer/developers.ts';
import type { DeveloperPlatform } from '../developer/developers.ts';
import { listenerOf } from '../harness/serve.ts';

const School = z.object({ name: z.string() });

const createSchool = defineAction({
  type: 'school',
  name: 'create-school-action',
  title: 'Create a school',
  level: 'collection',
  permission: 'edit_schools',
  input: School,
  output: School,
  mcp: true,
  run: ({ input }) => input,
});

/** A server with all that strangers can reach: every endpoint, page and option, the API with a route of the host, and the endpoint for agents. */
export async function startWholeServer(t: ExecutionContext): Promise<DeveloperPlatform> {
  const platform = await startDeveloperPlatform(
    {
      // Throttling would refuse most of the requests.
      limits: { attempts: false },
      openid: {},
      features: [
        devices(),
        personalTokens(),
        agents({ documents: false, registration: { scopes: ['schools:read'], perAddress: 10_000 } }),
      ],
      clients: { privateKeyJwt: true },
      resources: { 'https://agents.example/mcp': { name: 'Agents', scopes: {} } },
    },
    {
      async app({ auth }) {
        const app = new Koa({ proxy: true });
        app.silent = true;
        app.use(auth.health()).use(auth.middleware());
        const given = { auth, actions: [createSchool] };
        app.use(
          await createMcpEndpoint({
            ...given,
            path: '/mcp',
            resource: 'https://agents.example/mcp',
            hosts: ['127.0.0.1'],
          }),
        );
        const api = createApiRouter({ ...given, openapi: { access: 'public' } } as never);
        api.post('/uploads', (ctx) => {
          ctx.body = { data: Object.keys(ctx.request.body as object).length };
        });
        app.use(api.routes());
        app.use((ctx) => {
          ctx.body = ctx.path === '/own/query' ? Object.keys(ctx.query) : 'the host’s';
        });
        return listenerOf(app);
      },
    },
  );
  t.teardown(async () => platform[Symbol.asyncDispose]());
  return platform;
}
