import type { GuardOutcome, Limiter } from '../contracts/index.ts';
import type { Secrets } from '../keys/secrets.ts';
import { createLimitCallers } from '../limits/caller-limits.ts';
import { createKnownBrowsers } from '../limits/known-browsers.ts';
import { createAttemptIds, createLimiter, createNodeLimiter } from '../limits/limiter.ts';
import type { Limit } from '../limits/limiter.ts';
import { clientLimit, loginLimit, refreshLimit } from '../limits/limits.ts';
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
    countExchange: refreshes === 0 ? undefined : createNodeLimiter(refreshLimit(refreshes)),
    /** For the limits of APIs. */
    limitCallers: createLimitCallers(store, { ids, onRefused: () => observers.guarded?.(TOO_MANY_REQUESTS) }),
    limiterOf,
  };
}

const TOO_MANY_REQUESTS: GuardOutcome = Object.freeze({ admitted: false, code: 'too_many_requests' });
