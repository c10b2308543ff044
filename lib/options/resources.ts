import type { ClientLifetimes, Gate } from '../contracts/index.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { ConfigError } from '../errors.ts';
import { checkDuration, checkScopes, isLiteral } from './checks.ts';
import { checkKnownOptions } from './known-options.ts';
import type { AuthServerOptions, Resource, Scope } from './options.ts';
import type { ResolvedResource, ResolvedOptions } from './resolved-options.ts';

/** The options that say what the default API is, and what the others are limited to. */
interface DefaultResource<P extends string> extends Pick<ResolvedOptions, 'issuer' | 'lifetimes'> {
  readonly gate: Gate<P>;
  readonly scopes: Readonly<Record<string, Scope<P>>>;
}

/**
 * Checks the option `resources`, and returns all APIs by URL: first the default one, whose URL is the issuer.
 *
 * @param given - `undefined`: there is only the default API, and its metadata is not published
 */
export function checkResources<P extends string>(
  given: Readonly<Record<string, Resource<P>>> | undefined,
  { gate, issuer, lifetimes, scopes }: DefaultResource<P>,
): ReadonlyMap<string, ResolvedResource<P>> {
  const standard: ResolvedResource<P> = {
    resource: issuer,
    name: issuer,
    scopes: checkScopes('scopes', scopes, gate),
    lifetimes,
    metadataUrl: given && metadataUrlOf(issuer),
  };
  const resources = new Map([[issuer, standard]]);
  if (given === undefined) return resources;
  if (!isLiteral(given)) {
    throw new ConfigError(
      'resources',
      "give an object with the APIs by URL, such as { 'https://api.example/v1': { scopes } }",
    );
  }
  const hrefs = new Set([hrefOf(issuer)]);
  for (const [resource, api] of Object.entries(given)) {
    const option = `resources['${resource}']`;
    checkUrl(option, resource);
    if (hrefs.has(hrefOf(resource))) {
      throw new ConfigError(
        option,
        hrefOf(resource) === hrefOf(issuer)
          ? 'the issuer is the default API; give its scopes in the option scopes'
          : 'another entry has the same URL; give each API once',
      );
    }
    hrefs.add(hrefOf(resource));
    const { name = resource, scopes: own = {} } = checkKnownOptions(api, RESOURCE, option);
    if (typeof name !== 'string' || name.trim() === '') {
      throw new ConfigError(
        `${option}.name`,
        'give the name that users know the API by, such as "Documents"',
      );
    }
    resources.set(resource, {
      resource,
      name,
      scopes: checkScopes(`${option}.scopes`, own, gate),
      lifetimes: checkLifetimes(`${option}.lifetimes`, api.lifetimes ?? {}, lifetimes),
      metadataUrl: metadataUrlOf(resource),
    });
  }
  return resources;
}

/**
 * The API that a host's code names.
 *
 * @param option - for the error
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

const RESOURCE = { name: true, scopes: true, lifetimes: true } as const;

/** RFC 8707 section 2 and RFC 9728 section 1.2. No space, because consents are stored with one behind the URL, and no quote, for challenges. */
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

function checkLifetimes(
  option: string,
  given: ClientLifetimes,
  server: ResolvedOptions['lifetimes'],
): ResolvedResource['lifetimes'] {
  checkKnownOptions(given, { accessToken: true, refreshToken: true, refreshTokenAbsolute: true }, option);
  const check = (name: keyof ClientLifetimes): number => {
    const duration = given[name];
    const seconds = duration === undefined ? server[name] : checkDuration(`${option}.${name}`, duration, 1);
    if (seconds <= server[name]) return seconds;
    throw new ConfigError(`${option}.${name}`, `at most lifetimes.${name}, which is ${server[name]} s`);
  };
  return {
    accessToken: check('accessToken'),
    refreshToken: check('refreshToken'),
    refreshTokenAbsolute: check('refreshTokenAbsolute'),
  };
}

/** A URL in the form in which two that are equivalent are equal: `https://api.example` is `https://api.example/` (RFC 3986 section 6.2.3). */
export function hrefOf(resource: string): string {
  return URL.parse(resource)?.href ?? resource;
}

/** RFC 9728 section 3.1: the well-known path is inserted between the host and the path of the API. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
}

/**
 * The scopes of several APIs by name, for lists in which a name is for all of them. One that several APIs have has all their
 * descriptions and permissions.
 */
export function scopesOfAll<P extends string>(
  resources: Iterable<Pick<ResolvedResource<P>, 'scopes'>>,
): ReadonlyMap<string, Scope<P>> {
  const scopes = [...resources].flatMap((api) => Array.from(api.scopes));
  const byName = Map.groupBy(scopes, ([name]) => name);
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

/** The scopes of all APIs, for a program that only checks their names. `undefined`: neither option was given. */
export function checkScopeNames<P extends string>(
  { resources, scopes }: Pick<AuthServerOptions<P>, 'resources' | 'scopes'>,
  gate: Gate<P>,
): ReadonlyMap<string, Scope<P>> | undefined {
  if (scopes === undefined && resources === undefined) return undefined;
  const apis = Object.entries(resources ?? {}).map(([resource, { scopes: own = {} }]) => ({
    scopes: checkScopes(`resources['${resource}'].scopes`, own, gate),
  }));
  return scopesOfAll([{ scopes: checkScopes('scopes', scopes ?? {}, gate) }, ...apis]);
}
