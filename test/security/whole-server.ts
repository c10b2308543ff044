import type { ExecutionContext } from 'ava';
import { agents, defineAction, devices, personalTokens } from 'koa-gatehouse';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { z } from 'zod';

import { openDeveloperPlatform } from '../developer/developers.ts';
import type { DeveloperPlatform } from '../developer/developers.ts';

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
  return openDeveloperPlatform(
    t,
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
      koa: { proxy: true },
      before: ({ auth }) => [auth.health()],
      api: { actions: [createSchool], openapi: { access: 'public' } },
      routes: (api) =>
        api.post('/uploads', (ctx) => {
          ctx.body = { data: Object.keys(ctx.request.body as object).length };
        }),
      behind: async ({ auth }) => [
        await createMcpEndpoint({
          auth,
          actions: [createSchool],
          path: '/mcp',
          resource: 'https://agents.example/mcp',
          hosts: ['127.0.0.1'],
        }),
        (ctx) => {
          ctx.body = ctx.path === '/own/query' ? Object.keys(ctx.query) : 'the host’s';
        },
      ],
    },
  );
}
