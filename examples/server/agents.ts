import type { Knex } from 'knex';
import type { Middleware } from 'koa';
import type { AuthServer, Resource } from 'koa-gatehouse';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';

import { platformActions } from './actions/index.ts';
import { scopes } from './gate.ts';
import type { Permission, Role } from './gate.ts';

/** What agents may ask for. Their tokens are valid for an hour, because nobody registers most agents. */
export const AGENTS: Resource<Permission> = {
  name: 'Larkfield schools for agents',
  scopes: {
    'schools:read': scopes['schools:read']!,
    'schools:write': scopes['schools:write']!,
    'schools:close': {
      description: 'Close your schools for new pupils',
      permissions: ['close_schools'],
      optional: true,
    },
  },
  lifetimes: { accessToken: '1 hour', refreshToken: '30 days', refreshTokenAbsolute: '90 days' },
};

/** The URL that agents connect to. */
export function agentsUrl(baseUrl: string): string {
  return `${baseUrl}/mcp`;
}

/** Serves the platform's actions as tools. */
export async function createAgents(
  auth: AuthServer<Permission, Role>,
  { database, baseUrl }: { readonly database: Knex; readonly baseUrl: string },
): Promise<Middleware> {
  return createMcpEndpoint({
    auth,
    resource: agentsUrl(baseUrl),
    actions: platformActions(database),
    instructions: 'The schools of Larkfield. List them to find the id of a school. Ask before you close one.',
  });
}
