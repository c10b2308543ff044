import { agents, defineAction, defineGate, devices, openid, personalTokens } from 'koa-gatehouse';
import type { AgentOptions, AuthServerOptions, Feature } from 'koa-gatehouse';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { z } from 'zod';

import { BOTH_SCOPES, people } from '../../harness/platform.ts';
import type { gate as gateOfHarness, Mounting, Person, Platform } from '../../harness/platform.ts';

export type Options = Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', Person>>;

const gate = defineGate({
  permissions: { view_schools: 'View', edit_schools: 'Edit', introspect_tokens: 'Introspect' },
  roles: { registrar: ['view_schools', 'edit_schools'] },
}) as unknown as typeof gateOfHarness;

/** The API of agents, below the issuer of a cluster. */
export const MCP = 'http://localhost:1/mcp';

/** The users of all nodes. */
export const users: ReturnType<typeof people> = people();

/** How apps become known that nobody has registered. */
export const AGENTS = {
  documents: { scopes: ['schools:read'], loopback: true },
  registration: { scopes: ['schools:read'], perAddress: 10_000 },
} as const satisfies AgentOptions;

export const FEATURES: readonly Feature[] = [openid(), devices(), personalTokens(), agents(AGENTS)];

/** A server at which everything is on that accepts tokens. */
export const EVERYTHING = {
  gate,
  users,
  scopes: BOTH_SCOPES,
  resources: {
    [MCP]: { name: 'Agents', scopes: { 'tools:use': { description: 'Use', permissions: ['view_schools'] } } },
  },
  features: FEATURES,
  limits: { attempts: false },
} as const satisfies Options;

const look = defineAction({
  gate,
  type: 'school',
  name: 'look-action',
  level: 'collection',
  title: 'Look',
  permission: 'view_schools',
  mcp: true,
  input: z.object({}),
  output: z.object({}),
  run: () => ({}),
});

/** A route for pages of its origin at `/own`, and the tools of agents, where the server has that API. */
export const WITH_EVERYTHING: Mounting = {
  async behind({ auth }) {
    const guard = auth.guard({ session: true });
    return [
      ...(auth.scopes.has('tools:use') ? [await createMcpEndpoint({ auth, actions: [look] })] : []),
      (ctx, next) => (ctx.path === '/own' ? guard(ctx, next) : next()),
      (ctx, next) => {
        if (ctx.path !== '/own') return next();
        ctx.body = {};
        return undefined;
      },
    ];
  },
};

/** A node whose URLs are those at which it listens. */
export function directly(node: Platform): Platform {
  return { ...node, url: (path) => node.reach(node.url(path)), reach: (url) => url };
}
