import type { ClientEndpoint } from '../contracts/index.ts';
import { USERINFO } from '../options/openid.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/** The paths of the server's own endpoints, below the mount path. */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  registration: '/oauth/register',
  jwks: '/oauth/jwks',
  userinfo: USERINFO,
  interaction: '/oauth/interaction',
  login: '/oauth/login',
  end_session: '/oauth/logout',
} as const;

/** An endpoint whose requests are logged. */
export type Endpoint = EngineEndpoint | 'registration' | 'userinfo';

/** The same, of the engine. */
export type EngineEndpoint = ClientEndpoint | 'authorization';

/** Where a request goes. */
export interface EndpointPlace {
  /** The name of the trace span. `undefined`: the metadata, the keys and unknown paths, which are neither traced nor limited. */
  readonly work: Endpoint | 'page' | undefined;
  /** Whether the engine gets what the pages do not answer. */
  readonly hasEngine: boolean;
  /** The path in traces. @default that of the core's endpoint */
  readonly route?: string;
  /** Whether the engine may not know the path either, so that the request is the host's. */
  readonly mayBeHosts?: true;
  /** Of the configuration endpoint of a client that registered itself (RFC 7592). */
  readonly clientId?: string | undefined;
}

/** Paths that a feature answers. */
export interface FeaturePlace extends EndpointPlace {
  /** Below `/oauth/`. */
  readonly pattern?: RegExp;
  /** A page with the paths below it, elsewhere. */
  readonly path?: string;
}

/** Whether responses are for programs: JSON, also of an error. */
export function isForClients(work: EndpointPlace['work']): boolean {
  return work !== undefined && work !== 'page' && work !== 'authorization';
}

const METADATA: EndpointPlace = { work: undefined, hasEngine: true };

const PAGE: EndpointPlace = { work: 'page', hasEngine: false };

// By the first pattern that matches. The engine's router ignores case and one trailing slash too.
const PLACES: readonly (readonly [RegExp, EndpointPlace])[] = [
  [/^\/oauth\/token\/?$/i, { work: 'token', hasEngine: true }],
  [/^\/oauth\/revoke\/?$/i, { work: 'revocation', hasEngine: true }],
  [/^\/oauth\/introspect\/?$/i, { work: 'introspection', hasEngine: true }],
  // And the paths below it, at which the engine resumes an authorization.
  [/^\/oauth\/authorize(?:\/|$)/i, { work: 'authorization', hasEngine: true }],
  [/^\/oauth\/logos\//i, PAGE],
  [/^\/oauth\/(?:interaction|login|logout)(?:\/|$)/i, { work: 'page', hasEngine: true }],
  [/^\/oauth\/jwks\/?$/i, METADATA],
  [/^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)\/?$/i, METADATA],
  [/^/, { ...METADATA, mayBeHosts: true }],
];

/** Makes the function that says where a request with a path goes; `undefined`: to the host. */
export function createPlaceOf(
  { openid, paths }: ResolvedOptions,
  isRegistrationOpen: boolean,
  ofFeatures: readonly FeaturePlace[],
): (path: string) => EndpointPlace | undefined {
  const areas = [paths.developer, paths.account, ...ofFeatures.map((place) => place.path)]
    .filter((area) => area !== undefined)
    .map((area) => ({ area, below: `${area}/` }));
  return (path) => {
    if (!ENGINE_PATH.test(path) || (!openid && OPENID_METADATA.test(path)) || ENGINE_LOGOUT.test(path)) {
      return areas.some(({ area, below }) => path === area || path.startsWith(below)) ? PAGE : undefined;
    }
    if (OF_USERINFO.test(path)) return openid && { work: 'userinfo', hasEngine: false };
    const registration = isRegistrationOpen ? REGISTRATION.exec(path) : undefined;
    if (registration) return { work: 'registration', hasEngine: false, clientId: registration[1] };
    return (
      ofFeatures.find(({ pattern }) => pattern?.test(path)) ??
      PLACES.find(([pattern]) => pattern.test(path))![1]
    );
  };
}

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;

// Without OpenID Connect there is no such document: clients that ask for it first expect members that only an OpenID provider has,
// and take the metadata of RFC 8414 where this is not found.
const OPENID_METADATA = /^\/\.well-known\/openid-configuration\/?$/i;

const OF_USERINFO = /^\/oauth\/userinfo\/?$/i;

// The form target of the engine's logout page, which it shows when the user changes. This server never shows that page, so
// requests to its target fall through to the host.
const ENGINE_LOGOUT = /^\/oauth\/logout\/confirm\/?$/i;

// The registration endpoint, and below it the configuration endpoint of a client (RFC 7592).
const REGISTRATION = /^\/oauth\/register(?:\/([\w-]{1,255}))?\/?$/i;
