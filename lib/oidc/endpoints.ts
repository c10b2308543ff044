import type { ClientEndpoint } from '../contracts/index.ts';

/** The paths of the server's own endpoints, below the mount path. */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
  login: '/oauth/login',
  end_session: '/oauth/logout',
} as const;

/** An endpoint of which each request is logged. */
export type Endpoint = ClientEndpoint | 'authorization';

const DIRECT: ReadonlyMap<string, ClientEndpoint> = new Map(
  (['token', 'revocation', 'introspection'] as const).map((name) => [ENDPOINTS[name], name]),
);

/** Which of the endpoints that take a body a path means. Case and one trailing slash do not matter to the engine's router. */
export function directEndpoint(path: string): ClientEndpoint | undefined {
  return DIRECT.get(path.toLowerCase().replace(/\/$/, ''));
}

/** The endpoint that a path means; also where an authorization goes on after a page. */
export function endpointAt(path: string): Endpoint | undefined {
  return directEndpoint(path) ?? (AUTHORIZATION.test(path) ? 'authorization' : undefined);
}

const AUTHORIZATION = /^\/oauth\/authorize(?:\/|$)/i;

/** The piece of work in a trace that a request to this path is; none where nothing is worked out. */
export function workAt(path: string): Endpoint | 'page' | undefined {
  return endpointAt(path) ?? (PAGES.test(path) ? 'page' : undefined);
}

const PAGES = /^\/oauth\/(?:interaction|login|logout)(?:\/|$)/i;
