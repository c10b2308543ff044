import type { ClientEndpoint } from '../contracts/index.ts';

/** The paths of the server's own endpoints, below the mount path. */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  registration: '/oauth/register',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
  login: '/oauth/login',
  end_session: '/oauth/logout',
  device_authorization: '/oauth/device_authorization',
  device: '/oauth/device',
} as const;

/** An endpoint whose requests are logged. */
export type Endpoint = EngineEndpoint | 'registration';

/** The same, of the engine. */
export type EngineEndpoint = ClientEndpoint | 'authorization';

const CLIENT_ENDPOINTS: ReadonlyMap<string, ClientEndpoint> = new Map(
  (['token', 'revocation', 'introspection', 'device_authorization'] as const).map((name) => [
    ENDPOINTS[name],
    name,
  ]),
);

/**
 * The endpoint for clients (token, revocation, introspection, device authorization) at a path. The engine's router ignores case and one trailing
 * slash.
 */
export function clientEndpointAt(path: string): ClientEndpoint | undefined {
  return CLIENT_ENDPOINTS.get(path.toLowerCase().replace(/\/$/, ''));
}

/**
 * The registration endpoint at a path, or below it the configuration endpoint of a client (RFC 7592). Case and one trailing slash
 * are ignored, as at the other endpoints.
 */
export function registrationAt(path: string): { readonly clientId: string | undefined } | undefined {
  const found = REGISTRATION_PATH.exec(path);
  return found ? { clientId: found[1] } : undefined;
}

const REGISTRATION_PATH = /^\/oauth\/register(?:\/([\w-]{1,255}))?\/?$/i;

/** The endpoint at a path, including the paths below `/oauth/authorize` at which the engine resumes an authorization. */
export function endpointAt(path: string): EngineEndpoint | undefined {
  return clientEndpointAt(path) ?? (AUTHORIZATION_PATH.test(path) ? 'authorization' : undefined);
}

const AUTHORIZATION_PATH = /^\/oauth\/authorize(?:\/|$)/i;

/** The name of the trace span for a path; `undefined` for the metadata, the keys and unknown paths, which are not traced. */
export function workAt(path: string): EngineEndpoint | 'page' | undefined {
  return endpointAt(path) ?? (PAGE_PATH.test(path) ? 'page' : undefined);
}

const PAGE_PATH = /^\/oauth\/(?:interaction|login|logout|device)(?:\/|$)/i;
