import type { Gate, Seconds } from '../contracts/index.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { ConfigError } from '../errors.ts';
import { object, optional, readOptions } from './declare.ts';
import type { Given, Values } from './declare.ts';
import { lifetimeCheck, SHORT_LIFETIMES } from './lifetimes.ts';
import type { ResolvedLifetimes } from './lifetimes.ts';
import { isLiteral, requirePermissions, scopes } from './scopes.ts';
import type { Scope } from './scopes.ts';
import { duration, text } from './values.ts';

const SHARED_REFRESH_GRACE: Seconds = 3600;

const CLIENT_LIFETIMES = {
  accessToken: optional(lifetimeCheck),
  refreshToken: optional(lifetimeCheck),
  refreshTokenAbsolute: optional(lifetimeCheck),
};

function resourceOptions<P extends string>() {
  return {
    /** The name of the API on the consent page and in its metadata (RFC 9728). @default its URL */
    name: optional(text('give the name that users know the API by, such as "Documents"')),
    /**
     * The scopes of the API, by name. A token has only scopes of its own API. A scope of the same name at another API is a different
     * scope, with a consent of its own; a client that is registered for the name may request both.
     * @default none
     */
    scopes: optional(scopes<P>, {}),
    /**
     * The lifetimes of the API's tokens, at most those of `tokens.lifetimes`: agents that nobody has registered get these tokens.
     * @default those of the preset `short`, or of `tokens.lifetimes` where these are shorter
     */
    lifetimes: optional(object(CLIENT_LIFETIMES), {}),
    /**
     * `tokens.refreshGrace` for the public clients of this API: how long a used refresh token leads to the current one, so that the
     * processes of an agent can share one. Whoever steals a refresh token can use it for this time without being noticed. With `0`, reuse
     * always revokes the grant.
     * @default '1 hour', or `0` when `tokens.refreshGrace` is `0`
     */
    refreshGrace: optional(duration(0)),
  };
}

/** An API that tokens are issued for, besides the default one (RFC 8707). */
export interface Resource<P extends string = string> extends Given<ReturnType<typeof resourceOptions<P>>> {}

type DeclaredApis<P extends string> = ReadonlyMap<string, Values<ReturnType<typeof resourceOptions<P>>>>;

/** APIs by URL. */
export function apis<P extends string, A extends string>(
  place: string,
  given: Readonly<Record<A, Resource<P>>>,
): DeclaredApis<P> {
  if (!isLiteral(given)) {
    throw new ConfigError(
      place,
      "give an object with the APIs by URL, such as { 'https://api.example/v1': { scopes } }",
    );
  }
  return new Map(
    Object.entries<Resource<P>>(given).map(([url, api]) => {
      const option = `${place}['${url}']`;
      checkUrl(option, url);
      return [url, readOptions(resourceOptions<P>(), api, option)];
    }),
  );
}

/** An API, checked and with its defaults. */
export interface ResolvedResource<P extends string = string> {
  /** The URL of the API; for the default API, the issuer. */
  readonly resource: string;
  readonly name: string;
  readonly scopes: ReadonlyMap<string, Scope<P>>;
  /** In seconds. */
  readonly lifetimes: Pick<ResolvedLifetimes, keyof typeof CLIENT_LIFETIMES>;
  /** The grace for public clients; confidential clients have `tokens.refreshGrace`. */
  readonly refreshGrace: Seconds;
  /** The URL of the API's metadata (RFC 9728 section 3); `undefined` when it is not published, without the option `resources`. */
  readonly metadataUrl: string | undefined;
}

/**
 * All APIs by URL. The first is the default API, whose URL is the issuer.
 *
 * @param declared - `undefined` when there is only the default API, whose metadata is not published
 */
export function resolveResources<P extends string>(
  declared: DeclaredApis<P> | undefined,
  {
    gate,
    issuer,
    lifetimes,
    refreshGrace,
    scopes: standard,
  }: {
    readonly gate: Gate<P>;
    readonly issuer: string;
    readonly lifetimes: ResolvedLifetimes;
    readonly refreshGrace: Seconds;
    readonly scopes: ReadonlyMap<string, Scope<P>>;
  },
): ReadonlyMap<string, ResolvedResource<P>> {
  requirePermissions('scopes', standard, gate);
  const resolved = new Map<string, ResolvedResource<P>>();
  const metadataUrl = declared && metadataUrlOf(issuer);
  resolved.set(issuer, {
    resource: issuer,
    name: issuer,
    scopes: standard,
    lifetimes,
    refreshGrace,
    metadataUrl,
  });
  const hrefs = new Set([hrefOf(issuer)]);
  for (const [url, api] of declared ?? []) {
    const option = `resources['${url}']`;
    if (hrefs.has(hrefOf(url))) {
      throw new ConfigError(
        option,
        hrefOf(url) === hrefOf(issuer)
          ? 'the issuer is the default API; give its scopes in the option scopes'
          : 'another entry has the same URL; give each API once',
      );
    }
    hrefs.add(hrefOf(url));
    requirePermissions(`${option}.scopes`, api.scopes, gate);
    resolved.set(url, {
      resource: url,
      name: api.name ?? url,
      scopes: api.scopes,
      lifetimes: limitedBy(lifetimes, api.lifetimes, `${option}.lifetimes`),
      refreshGrace: api.refreshGrace ?? (refreshGrace === 0 ? 0 : SHARED_REFRESH_GRACE),
      metadataUrl: metadataUrlOf(url),
    });
  }
  return resolved;
}

function limitedBy(
  server: ResolvedLifetimes,
  own: Values<typeof CLIENT_LIFETIMES>,
  place: string,
): ResolvedResource['lifetimes'] {
  const limited = (name: keyof typeof CLIENT_LIFETIMES): Seconds => {
    const seconds = own[name] ?? Math.min(SHORT_LIFETIMES[name], server[name]);
    if (seconds <= server[name]) return seconds;
    throw new ConfigError(`${place}.${name}`, `at most tokens.lifetimes.${name}, which is ${server[name]} s`);
  };
  return {
    accessToken: limited('accessToken'),
    refreshToken: limited('refreshToken'),
    refreshTokenAbsolute: limited('refreshTokenAbsolute'),
  };
}

/**
 * The API that a host's code names.
 *
 * @param option - the option that the error names
 * @throws ConfigError when the server does not have it
 */
export function requireResource<P extends string>(
  option: string,
  resource: string,
  resources: ReadonlyMap<string, ResolvedResource<P>>,
): ResolvedResource<P> {
  const api = resources.get(resource);
  if (api) return api;
  throw new ConfigError(
    option,
    `the server has no such API; the APIs are ${[...resources.keys()].join(', ')}`,
  );
}

/**
 * Checks the URL of an API (RFC 8707 section 2, RFC 9728 section 1.2). It has no space, because consents are stored with a space after
 * the URL, and no quote, because challenges quote it.
 */
function checkUrl(option: string, resource: string): void {
  const url = URL.parse(resource);
  if (!url || /[\s"\\]/.test(resource)) {
    throw new ConfigError(option, 'give the URL of the API as the key, such as https://api.example/v1');
  }
  if (url.search || url.hash || url.username || url.password || /[?#]/.test(resource)) {
    throw new ConfigError(option, 'leave out query, fragment and credentials (RFC 9728 section 1.2)');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw new ConfigError(option, 'use https; http is accepted for loopback addresses only');
  }
}

/**
 * A URL in a form in which equivalent URLs are equal: `https://api.example` is `https://api.example/` (RFC 3986 section 6.2.3), and a
 * path is equal with and without a slash at its end, because users add one to the URL of an API.
 */
export function hrefOf(resource: string): string {
  const url = URL.parse(resource);
  if (!url) return resource;
  url.pathname = url.pathname.replace(/\/$/, '');
  return url.href;
}

/** RFC 9728 section 3.1: the well-known path is inserted between the host and the path of the API. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}

/**
 * The scopes of several APIs by name, for lists in which a name stands for the scopes of all APIs. A scope that several APIs have gets
 * all their descriptions and permissions.
 */
export function scopesOfAll<P extends string>(
  resources: Iterable<Pick<ResolvedResource<P>, 'scopes'>>,
): ReadonlyMap<string, Scope<P>> {
  const all = [...resources].flatMap((api) => Array.from(api.scopes));
  const byName = Map.groupBy(all, ([name]) => name);
  return new Map(
    Array.from(byName, ([name, same]) => [
      name,
      {
        description: [...new Set(same.map(([, { description }]) => description))].join('; '),
        permissions: [...new Set(same.flatMap(([, { permissions }]) => permissions))],
      },
    ]),
  );
}
