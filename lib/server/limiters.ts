import type { GuardOutcome, Limiter } from '../contracts/index.ts';
import type { Secrets } from '../keys/secrets.ts';
import { createLimitCallers } from '../limits/caller-limits.ts';
import { createKnownBrowsers } from '../limits/known-browsers.ts';
import { createAttemptIds, createLimiter, createNodeLimiter } from '../limits/limiter.ts';
import type { Limit } from '../limits/limiter.ts';
import { clientLimit, loginLimit, refreshLimit } from '../limits/limits.ts';
import { networksOf } from '../limits/networks.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ServerRecord } from './record.ts';

/** Makes the limiters of a server. `undefined`: the options set no limit. */
export function createLimiters(
  {
    limits: { attempts, refreshes },
    logger,
    storage,
  }: Pick<ResolvedOptions, 'limits' | 'logger' | 'storage'>,
  { record: { observers }, secrets }: { readonly record: ServerRecord; readonly secrets: Secrets },
) {
  const store = storage.attempts;
  const ids = createAttemptIds(secrets);
  const limiterOf = <S>(limit: Limit<S>): Limiter<S> => createLimiter(store, limit, { ids, logger });
  const { clientAuthentication, login } = attempts ?? {};
  return {
    logins: login && limiterOf(loginLimit(login)),
    // Without a limit of logins, browsers need no device cookie.
    browsers: login && createKnownBrowsers(secrets, login.deviceLifetime),
    clients: clientAuthentication && limiterOf(clientLimit(clientAuthentication)),
    /** Counts a token request for a user, on this node. @throws TooManyAttemptsError */
    countRefresh: refreshes === 0 ? undefined : createNodeLimiter(refreshLimit(refreshes)),
    /** For the limits of APIs. */
    limitCallers: createLimitCallers(store, { ids, onRefused: () => observers.guarded?.(TOO_MANY_REQUESTS) }),
    limiterOf,
    /** Makes the id of a client out of the address and the metadata that it is registered with: a UUID (RFC 9562 section 5.8). */
    clientIdOf: (address: string, metadata: string): string =>
      uuidOf(ids()(['registration id', networksOf(address)[0].name, metadata])),
    /** A keyed hash of the widest network of an address. */
    networkOf: (address: string): string => ids()(['registration network', networksOf(address).at(-1)!.name]),
  };
}

export type ServerLimiters = ReturnType<typeof createLimiters>;

/** A UUID of a hash, which is base64url. */
function uuidOf(hash: string): string {
  const bytes = Buffer.from(hash, 'base64url').subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const TOO_MANY_REQUESTS: GuardOutcome = Object.freeze({ admitted: false, code: 'too_many_requests' });
