import { LONGEST_KEY_SET, usableKeys } from '../../clients/public-keys.ts';
import { createRemoteKeys, LEAST_PAUSE } from '../../clients/remote-keys.ts';
import type { KeySet } from '../../clients/remote-keys.ts';
import { now } from '../../contracts/clock.ts';
import type { Seconds } from '../../contracts/index.ts';
import { TooManyAttempts, TryAgain } from '../../engine/refusals.ts';
import type { PublicFetch } from '../../http/public-fetch.ts';
import { createRemoteWaits } from '../../limits/remote-waits.ts';
import type { Core } from '../core.ts';
import type { IdJagSettings, Issuers, WorkloadSettings } from './options.ts';

/**
 * Finds the keys for an assertion of an issuer.
 *
 * @param keyId - the `kid` of the assertion; `undefined` when it names none
 * @param address - the address of the requester
 * @throws TryAgain of the engine when they cannot be read now
 * @throws TooManyAttempts of the engine when too many requests wait for them
 */
export type FindIssuerKeys = (
  issuer: IdJagSettings | WorkloadSettings,
  keyId: string | undefined,
  address: string,
) => Promise<KeySet>;

/** The keys of issuers. */
export interface IssuerKeys {
  readonly find: FindIssuerKeys;
  /** Fetches the keys of an issuer, whatever is kept of them. @throws Error that says why they cannot be fetched */
  readonly fetch: (issuer: IdJagSettings | WorkloadSettings) => Promise<void>;
}

// For how long the metadata say where the keys are.
const FRESH: Seconds = 3600;

const LONGEST_METADATA = 65_536;

/**
 * Keeps the keys of issuers. They are fetched in places of their own, and for configured issuers only, so that no stranger causes other
 * fetches.
 */
export function createIssuerKeys(
  { options, publicFetchFor }: Pick<Core, 'options' | 'publicFetchFor'>,
  issuers: Issuers,
): IssuerKeys {
  const publicFetch = publicFetchFor({ loopback: [...issuers.values()].some(({ loopback }) => loopback) });
  const uriOf = createFindKeysUri(publicFetch);

  // By the issuer where its metadata say the URL, else by the URL.
  const fetchKeys: PublicFetch = async (url, given) =>
    issuers.has(url) ? uriOf(url, async (uri) => publicFetch(uri, given)) : publicFetch(url, given);
  const remoteKeys = createRemoteKeys(fetchKeys, {
    isTrusted: true,
    logger: options.logger,
    of: 'a trusted issuer',
    waits: createRemoteWaits(options.limits),
  });

  async function find(
    ...[{ issuer, keys }, keyId, address]: Parameters<FindIssuerKeys>
  ): ReturnType<FindIssuerKeys> {
    if (keys && 'jwks' in keys) return keys.jwks;
    const found = await remoteKeys.find(keys?.jwksUri ?? issuer, keyId, address).catch((error: unknown) => {
      throw TooManyAttempts.instead(error, 'requests that wait for the keys of issuers');
    });
    if ('keys' in found) return found;
    throw new TryAgain(
      'the keys of the issuer of the assertion cannot be read now',
      `the keys of the trusted issuer ${issuer} cannot be read: ${found.problem}`,
      LEAST_PAUSE,
    );
  }

  return {
    find,
    async fetch({ issuer, keys }) {
      if (keys && 'jwks' in keys) return;
      const { value } = await fetchKeys(keys?.jwksUri ?? issuer, { maxBytes: LONGEST_KEY_SET });
      usableKeys(value);
    },
  };
}

/** Calls a function with the `jwks_uri` of an issuer. When that fails, the metadata are read again the next time. */
function createFindKeysUri(
  publicFetch: PublicFetch,
): <T>(issuer: string, fetchKeys: (uri: string) => Promise<T>) => Promise<T> {
  const known = new Map<string, { readonly uri: string; readonly until: Seconds }>();

  return async function withKeysUri(issuer, fetchKeys) {
    const fresh = known.get(issuer);
    const uri = fresh && now() < fresh.until ? fresh.uri : await readKeysUri(publicFetch, issuer);
    try {
      const document = await fetchKeys(uri);
      if (uri !== fresh?.uri || now() >= fresh.until) known.set(issuer, { uri, until: now() + FRESH });
      return document;
    } catch (error) {
      known.delete(issuer);
      throw error;
    }
  };
}

/** The `jwks_uri` of the metadata of an issuer (RFC 8414 section 3.1; OpenID Connect Discovery section 4). @throws Error for the log */
async function readKeysUri(publicFetch: PublicFetch, issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  let failure: unknown;
  for (const url of [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ])
    try {
      const { value } = await publicFetch(url, { maxBytes: LONGEST_METADATA });
      const { issuer: named, jwks_uri: uri } = Object(value) as Record<string, unknown>;
      if (named === issuer && typeof uri === 'string') return uri;
      failure = new Error(`the metadata at ${url} are not those of the issuer, or have no jwks_uri`);
    } catch (error) {
      failure = error;
    }
  throw failure;
}
