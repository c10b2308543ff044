import type { Knex } from 'knex';
import type { Middleware } from 'koa';
import type { AuthServer } from 'koa-gatehouse';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';

import { platformActions } from './actions/index.ts';
import { agentsUrl } from './gate.ts';
import type { gate } from './gate.ts';

/** Serves the platform's actions as tools. */
export async function createAgents(
  auth: AuthServer<typeof gate>,
  { database, baseUrl }: { readonly database: Knex; readonly baseUrl: string },
): Promise<Middleware> {
  return createMcpEndpoint({
    auth,
    resource: agentsUrl(baseUrl),
    actions: platformActions(database),
    instructions: 'The schools of Larkfield. List them to find the id of a school. Ask before you close one.',
  });
}
