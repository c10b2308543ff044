import type { ClientEndpoint } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

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

/** Whether a page for users is at a path, or below it. */
function isPage(path: string): boolean {
  return PAGE_PATH.test(path);
}

const PAGE_PATH = /^\/oauth\/(?:interaction|login|logout|device)(?:\/|$)/i;

/** Where a request goes. */
export interface Place {
  /** The name of the trace span. `undefined`: the metadata, the keys and unknown paths, which are neither traced nor limited. */
  readonly work: EngineEndpoint | 'page' | 'registration' | undefined;
  /** Whether the engine gets what the pages do not answer. */
  readonly hasEngine: boolean;
  /** Of the configuration endpoint of a client that registered itself (RFC 7592). */
  readonly clientId?: string | undefined;
}

const PAGE: Place = { work: 'page', hasEngine: false };
const PAGE_OR_ENGINE: Place = { work: 'page', hasEngine: true };
const OTHER: Place = { work: undefined, hasEngine: true };

/** Makes the function that says where a request with a path goes; `undefined`: to the host. */
export function createPlaceOf(
  { clients, paths }: ResolvedOptions,
  isRegistrationOpen: boolean,
): (path: string) => Place | undefined {
  const areas = [paths.developer, paths.account].filter((area) => area !== undefined);
  return (path) => {
    if (!ENGINE_PATH.test(path) || ENGINE_LOGOUT.test(path)) {
      return areas.some((area) => path === area || path.startsWith(`${area}/`)) ? PAGE : undefined;
    }
    if (!clients.devices && DEVICE.test(path)) return undefined;
    const registered = isRegistrationOpen ? registrationAt(path) : undefined;
    if (registered) return { work: 'registration', hasEngine: false, clientId: registered.clientId };
    const endpoint = endpointAt(path);
    if (endpoint) return { work: endpoint, hasEngine: true };
    if (ENGINE_DEVICE.test(path)) return PAGE;
    return isPage(path) ? PAGE_OR_ENGINE : OTHER;
  };
}

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;

// The form target of the engine's logout page, which it shows when the user changes. This server never shows that page, so
// requests to its target fall through to the host.
const ENGINE_LOGOUT = /^\/oauth\/logout\/confirm\/?$/i;

// The path of the engine's own page for user codes, and the paths below it. The pages have one instead.
const ENGINE_DEVICE = /^\/oauth\/device(?:\/|$)/i;

// Without the option, nothing of this is here.
const DEVICE = /^\/oauth\/device(?:_authorization)?(?:\/|$)/i;
