import type { Middleware, ParameterizedContext } from 'koa';

import type {
  CallerQuota,
  GuardedState,
  Principal,
  RequestCounter,
  RequestPolicy,
} from '../contracts/index.ts';
import { sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import type { Action } from './actions/define-action.ts';
import type { CallerLimits } from './limits.ts';

/** Counts the requests to an API, and the runs of its actions, under its limits. */
export interface RequestLimiter {
  /** Counts a request. Over a limit, it answers 429. Use it behind the guard. `undefined`: there is no limit of requests. */
  readonly countRequest: Middleware<GuardedState> | undefined;
  /**
   * Counts runs of an action in a request that `countRequest` has counted once, and sets the RateLimit fields of the response.
   *
   * @returns the problem to answer with when the runs are over a limit, and none of them may run
   */
  countRuns(this: void, ctx: LimitedContext, action: Action, runs: number): Promise<Problem | undefined>;
  /** The largest number of runs that one request can ask for. */
  mostRuns(this: void, action: Action): number;
  /** Whether there is any limit. */
  readonly isLimited: boolean;
}

type LimitedContext = Pick<ParameterizedContext<GuardedState>, 'state' | 'set'>;

/**
 * Creates the limits of an API. Routers of one server that have the same limit count the same requests.
 *
 * @param actions - those of the API, whose own limits apply
 */
export function createRequestLimits(
  { user: ofUser, client: ofClient, action: ofAction }: CallerLimits,
  { actions, counter }: { readonly actions: readonly Action[]; readonly counter: RequestCounter },
): RequestLimiter {
  const requestLimits: readonly Limit[] = [
    ...(ofUser ? [createLimit({ name: 'user', ...ofUser }, counter, userIdOf)] : []),
    ...(ofClient ? [createLimit({ name: 'client', ...ofClient }, counter, clientIdOf)] : []),
  ];
  const runLimits = new Map(
    actions.flatMap((action): [Action, Limit][] => {
      const limit = action.limit ?? ofAction;
      const policy = limit && { name: `${action.type}/${action.name}`, ...limit };
      return policy ? [[action, createLimit(policy, counter, partyOf)]] : [];
    }),
  );

  return {
    isLimited: requestLimits.length > 0 || runLimits.size > 0,
    countRequest:
      requestLimits.length === 0
        ? undefined
        : async function countRequest(ctx, next) {
            const { principal } = ctx.state;
            const problem = await countAll(
              ctx,
              addShares([], requestLimits, { principal, count: 1 }),
              counter,
            );
            if (problem) return sendProblem(ctx, problem);
            return next();
          },
    async countRuns(ctx, action, runs) {
      const runLimit = runLimits.get(action);
      const { principal } = ctx.state;
      if (!runLimit && (runs === 1 || requestLimits.length === 0)) return undefined;
      // The request itself has been counted as one run.
      const shares = addShares([], requestLimits, { principal, count: runs - 1 });
      if (runLimit) addShares(shares, [runLimit], { principal, count: runs });
      return countAll(ctx, shares, counter);
    },
    mostRuns(action) {
      const runLimit = runLimits.get(action);
      return Math.min(
        ...[...requestLimits, ...(runLimit ? [runLimit] : [])].map(({ policy }) => policy.requests),
      );
    },
  };
}

/** A limit, and whose requests are counted together under it. */
interface Limit {
  readonly policy: RequestPolicy;
  /** An item of the field RateLimit-Policy. */
  readonly announced: string;
  /** `undefined`: the limit is none for this principal. */
  quotaOf(principal: Principal): CallerQuota | undefined;
}

function createLimit(
  policy: RequestPolicy,
  counter: RequestCounter,
  callerOf: (principal: Principal) => string | undefined,
): Limit {
  const quotaOf = counter.quotasOf(policy);
  return {
    policy,
    announced: `"${policy.name}";q=${policy.requests};w=${policy.window}`,
    quotaOf(principal) {
      const caller = callerOf(principal);
      return caller === undefined ? undefined : quotaOf(caller);
    },
  };
}

const userIdOf = ({ user }: Principal): string | undefined => user?.id;
const clientIdOf = ({ client }: Principal): string => client.id;

/** Whose requests are counted together: a user's with all clients, or those of a client for itself. */
export const partyOf = ({ user, client }: Principal): string =>
  user ? `user ${user.id}` : `client ${client.id}`;

/** Requests to count under a limit. */
interface Share {
  readonly limit: Limit;
  readonly quota: CallerQuota;
  readonly count: number;
  /** In which they were counted. `undefined`: not counted. */
  window: number | undefined;
}

function addShares(
  shares: Share[],
  limits: readonly Limit[],
  { principal, count }: { readonly principal: Principal; readonly count: number },
): Share[] {
  for (const limit of limits) {
    const quota = limit.quotaOf(principal);
    if (quota) shares.push({ limit, quota, count, window: undefined });
  }
  return shares;
}

/** Counts requests under all limits or none, and sets the fields of the response (draft-ietf-httpapi-ratelimit-headers-11). */
async function countAll(
  ctx: LimitedContext,
  shares: readonly Share[],
  counter: RequestCounter,
): Promise<Problem | undefined> {
  if (shares.length === 0) return undefined;
  let exceeded: Share | undefined;
  for (const share of shares) {
    if (share.count === 0) continue;
    const window = share.quota.take(share.count);
    // Not awaited in most requests, which would cost more than the count.
    share.window = window instanceof Promise ? await window : window;
    if (share.window === undefined) {
      exceeded = share;
      break;
    }
  }
  if (exceeded) giveBack(shares);
  setFields(ctx, shares);
  if (!exceeded) return undefined;
  counter.refused();
  return problemOf(exceeded);
}

function giveBack(shares: readonly Share[]): void {
  for (const { count, quota, window } of shares) if (window !== undefined) quota.giveBack(count, window);
}

/** Sets Lists of Strings, each with Integers as parameters (RFC 9651). */
function setFields(ctx: LimitedContext, shares: readonly Share[]): void {
  let policies = '';
  let standings = '';
  for (const { limit, quota } of shares) {
    const separator = policies === '' ? '' : ', ';
    policies += `${separator}${limit.announced}`;
    standings += `${separator}"${limit.policy.name}";r=${quota.remaining};t=${quota.seconds}`;
  }
  ctx.set('RateLimit-Policy', policies);
  ctx.set('RateLimit', standings);
}

function problemOf({ count: wanted, limit, quota }: Share): Problem {
  const { name, requests, window } = limit.policy;
  const { remaining, seconds } = quota;
  const is = wanted === 1 ? 'is reached' : `has ${remaining} left, and this request needs ${wanted}`;
  return {
    status: 429,
    code: 'too_many_requests',
    // Section 5.1 of the draft.
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    detail: `The limit "${name}" of ${requests} requests in ${window} seconds ${is}. Try again in ${seconds} seconds.`,
    members: { 'violated-policies': [name] },
    headers: { 'Retry-After': String(seconds) },
  };
}
