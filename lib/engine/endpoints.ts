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

/** Endpoints that clients call with a body. */
export type DirectEndpoint = 'token' | 'revocation' | 'introspection';

const DIRECT: ReadonlyMap<string, DirectEndpoint> = new Map(
  (['token', 'revocation', 'introspection'] as const).map((name) => [ENDPOINTS[name], name]),
);

/** Which of the endpoints that take a body a path means. Case and one trailing slash do not matter to the engine's router. */
export function directEndpoint(path: string): DirectEndpoint | undefined {
  return DIRECT.get(path.toLowerCase().replace(/\/$/, ''));
}
