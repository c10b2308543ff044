import type { Context } from 'koa';

import type { ResolvedOptions } from '../options/resolved-options.ts';
import { ENDPOINTS, PAGE } from './endpoints.ts';
import type { Endpoint, EndpointRule } from './endpoints.ts';
import type { EngineRequest } from './request.ts';

interface Where {
  /** Below `/oauth/` or `/.well-known/`. */
  readonly pattern?: RegExp;
  /** A page with the paths below it, elsewhere. */
  readonly area?: string;
}

interface AnsweredByItself {
  readonly answeredBy: 'itself';
  /** Never throws. */
  answer(ctx: Context, request: EngineRequest): Promise<void>;
}

interface AnsweredByOthers {
  readonly answeredBy: Exclude<EndpointRule['answeredBy'], 'itself'>;
}

/** A row of the table of endpoints: what the endpoint is, and where. */
export type EndpointRow = EndpointRule & Where & (AnsweredByItself | AnsweredByOthers);

// By the first pattern that matches. The engine's router ignores case and one trailing slash too.
const PATTERNS: Readonly<Record<Endpoint, RegExp>> = {
  token: /^\/oauth\/token\/?$/i,
  revocation: /^\/oauth\/revoke\/?$/i,
  introspection: /^\/oauth\/introspect\/?$/i,
  // And the paths below it, at which the engine resumes an authorization.
  authorization: /^\/oauth\/authorize(?:\/|$)/i,
  logos: /^\/oauth\/logos\//i,
  sessionPages: /^\/oauth\/(?:interaction|login|logout)(?:\/|$)/i,
  jwks: /^\/oauth\/jwks\/?$/i,
  discovery: /^\/\.well-known\/oauth-authorization-server\/?$/i,
  unknown: /^/,
};

const ROWS: readonly EndpointRow[] = (Object.keys(PATTERNS) as Endpoint[]).map((name) =>
  Object.assign({ pattern: PATTERNS[name] }, ENDPOINTS[name]),
);

/** The table of a server: the rows of its features, then those of the core. */
export function endpointsOf(
  features: readonly { readonly endpoints?: readonly EndpointRow[] }[],
): readonly EndpointRow[] {
  return [...features.flatMap(({ endpoints = [] }) => endpoints), ...ROWS];
}

/** Makes the function that finds the endpoint at a path; `undefined`: the request is the host's. */
export function createEndpointOf(
  { paths }: Pick<ResolvedOptions, 'paths'>,
  endpoints: readonly EndpointRow[],
): (path: string) => EndpointRow | undefined {
  const areas = [paths.account, paths.sessions, ...endpoints.map((row) => row.area)]
    .filter((area) => area !== undefined)
    .map((area) => ({ area, below: `${area}/` }));
  return (path) => {
    if (!ENGINE_PATH.test(path) || ENGINE_LOGOUT.test(path)) {
      return areas.some(({ area, below }) => path === area || path.startsWith(below)) ? PAGE : undefined;
    }
    const row = endpoints.find(({ pattern }) => pattern?.test(path))!;
    return row.mayBeHosts && OTHER_METADATA.test(path) ? undefined : row;
  };
}

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;

// The engine has more documents, each of which a feature may announce by a row of its own.
const OTHER_METADATA = /^\/\.well-known\//i;

// The form target of the engine's logout page, which it shows when the user changes. This server never shows that page, so
// requests to its target fall through to the host.
const ENGINE_LOGOUT = /^\/oauth\/logout\/confirm\/?$/i;
