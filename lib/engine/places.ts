import type { Context } from 'koa';

import type { RequestCounter } from '../contracts/internals.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { EndpointPlace } from './endpoints.ts';
import type { EngineRequest } from './request.ts';

/** Paths that a feature answers. */
export interface FeaturePlace extends EndpointPlace {
  /** Below `/oauth/` or `/.well-known/`. */
  readonly pattern?: RegExp;
  /** A page with the paths below it, elsewhere. */
  readonly path?: string;
  /** Answers a request at an endpoint of its own. Never throws. */
  answer?(ctx: Context, request: EngineRequest): Promise<void>;
  /** The metric of its requests. */
  readonly counter?: RequestCounter;
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
  [/^\/\.well-known\/oauth-authorization-server\/?$/i, METADATA],
  [/^/, { ...METADATA, mayBeHosts: true }],
];

/** Makes the function that says where a request with a path goes; `undefined`: to the host. */
export function createPlaceOf(
  { paths }: Pick<ResolvedOptions, 'paths'>,
  ofFeatures: readonly FeaturePlace[],
): (path: string) => FeaturePlace | undefined {
  const areas = [paths.account, ...ofFeatures.map((place) => place.path)]
    .filter((area) => area !== undefined)
    .map((area) => ({ area, below: `${area}/` }));
  return (path) => {
    if (!ENGINE_PATH.test(path) || ENGINE_LOGOUT.test(path)) {
      return areas.some(({ area, below }) => path === area || path.startsWith(below)) ? PAGE : undefined;
    }
    const ofFeature = ofFeatures.find(({ pattern }) => pattern?.test(path));
    if (ofFeature) return ofFeature;
    return OTHER_METADATA.test(path) ? undefined : PLACES.find(([pattern]) => pattern.test(path))![1];
  };
}

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;

// The engine has more documents, each of which a feature may announce by a place of its own.
const OTHER_METADATA = /^\/\.well-known\/(?!oauth-authorization-server\/?$)/i;

// The form target of the engine's logout page, which it shows when the user changes. This server never shows that page, so
// requests to its target fall through to the host.
const ENGINE_LOGOUT = /^\/oauth\/logout\/confirm\/?$/i;
