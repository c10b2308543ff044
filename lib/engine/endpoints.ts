import type { ClientEndpoint } from '../contracts.ts';

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

const DIRECT: ReadonlyMap<string, ClientEndpoint> = new Map(
  (['token', 'revocation', 'introspection'] as const).map((name) => [ENDPOINTS[name], name]),
);

/** Which of the endpoints that take a body a path means. Case and one trailing slash do not matter to the engine's router. */
export function directEndpoint(path: string): ClientEndpoint | undefined {
  return DIRECT.get(path.toLowerCase().replace(/\/$/, ''));
}

/** Whether a path is that of the authorization endpoint, or where it goes on after a page. */
export function isAuthorization(path: string): boolean {
  return /^\/oauth\/authorize(?:\/|$)/i.test(path);
}

/** The piece of work in a trace that a request to this path is; none where nothing is worked out. */
export function workAt(path: string): ClientEndpoint | 'authorization' | 'page' | undefined {
  const endpoint = directEndpoint(path) ?? (isAuthorization(path) ? 'authorization' : undefined);
  return endpoint ?? (PAGES.test(path) ? 'page' : undefined);
}

const PAGES = /^\/oauth\/(?:interaction|login|logout)(?:\/|$)/i;
