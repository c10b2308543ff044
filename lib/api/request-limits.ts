import type { Middleware, ParameterizedContext } from 'koa';

import type {
  CallerLimit,
  CallerLimiter,
  GuardedState,
  LimitCallers,
  Principal,
  Seconds,
} from '../contracts/index.ts';
import { sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import type { Action } from './actions/define-action.ts';
import type { CallerLimits } from './limits.ts';

/** Counts the requests to an API, and the runs of its actions, under its limits. */
export interface RequestLimiter {
  /** Counts a request, and answers 429 over a limit. Use it behind the guard. `undefined` when there is no limit of requests. */
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
 * @param actions - the actions of the API, whose own limits apply
 */
export function createRequestLimits(
  { user, client, action: ofAction }: CallerLimits,
  { actions, limitCallers }: { readonly actions: readonly Action[]; readonly limitCallers: LimitCallers },
): RequestLimiter {
  function limitOf(limit: CallerLimit, callerOf: (principal: Principal) => string | undefined): AppliedLimit {
    const limiterOf = limitCallers(limit);
    return {
      limit,
      announced: `"${limit.name}";q=${limit.requests};w=${limit.window}`,
      limiterOf(principal) {
        const caller = callerOf(principal);
        return caller === undefined ? undefined : limiterOf(caller);
      },
    };
  }

  const requestLimits: readonly AppliedLimit[] = [
    ...(user ? [limitOf({ name: 'user', ...user }, (principal) => principal.user?.id)] : []),
    ...(client ? [limitOf({ name: 'client', ...client }, programOf)] : []),
  ];
  const runLimits = new Map<Action, AppliedLimit>();
  for (const action of actions) {
    const limit = action.limit ?? ofAction;
    if (limit) runLimits.set(action, limitOf({ name: `${action.type}/${action.name}`, ...limit }, partyOf));
  }

  return {
    isLimited: requestLimits.length > 0 || runLimits.size > 0,
    countRequest:
      requestLimits.length === 0
        ? undefined
        : async function countRequest(ctx, next) {
            const problem = await countAll(ctx, countsOf(ctx, requestLimits, 1));
            if (problem) return sendProblem(ctx, problem);
            return next();
          },
    async countRuns(ctx, action, runs) {
      const runLimit = runLimits.get(action);
      if (!runLimit && (runs === 1 || requestLimits.length === 0)) return undefined;
      // The request itself has been counted as one run.
      const counts = countsOf(ctx, requestLimits, runs - 1);
      if (runLimit) counts.push(...countsOf(ctx, [runLimit], runs));
      return countAll(ctx, counts);
    },
    mostRuns(action) {
      const runLimit = runLimits.get(action);
      return Math.min(
        ...[...requestLimits, ...(runLimit ? [runLimit] : [])].map(({ limit }) => limit.requests),
      );
    },
  };
}

/** A limit, and whose requests are counted together under it. */
interface AppliedLimit {
  readonly limit: CallerLimit;
  /** An item of the field RateLimit-Policy. */
  readonly announced: string;
  /** The limiter of a principal; `undefined` when the limit does not apply to it. */
  limiterOf(principal: Principal): CallerLimiter | undefined;
}

/** Whose requests are counted together: those of a user with all clients, or those of a client for itself. */
export const partyOf = ({ user, client }: Principal): string =>
  user ? `user ${user.id}` : `client ${client.id}`;

/** The program that sends a request: a client, for all of its users, or the holder of a personal access token. */
const programOf = ({ client, token }: Principal): string | undefined => client?.id ?? token?.id;

/** Requests to count under a limit. */
interface CountedRequests {
  readonly applied: AppliedLimit;
  readonly limiter: CallerLimiter;
  readonly requests: number;
  /** The window in which they were counted; `undefined` when they were not counted. */
  window: Seconds | undefined;
}

function countsOf(ctx: LimitedContext, limits: readonly AppliedLimit[], requests: number): CountedRequests[] {
  const counts: CountedRequests[] = [];
  for (const applied of limits) {
    const limiter = applied.limiterOf(ctx.state.principal);
    if (limiter) counts.push({ applied, limiter, requests, window: undefined });
  }
  return counts;
}

/** Counts requests under all limits or none, and sets the fields of the response (draft-ietf-httpapi-ratelimit-headers-11). */
async function countAll(
  ctx: LimitedContext,
  counts: readonly CountedRequests[],
): Promise<Problem | undefined> {
  if (counts.length === 0) return undefined;
  let exceeded: CountedRequests | undefined;
  for (const count of counts) {
    const window = count.limiter.take(count.requests);
    // In most requests nothing is awaited, because that would cost more than the count.
    count.window = window instanceof Promise ? await window : window;
    if (count.window === undefined) {
      exceeded = count;
      break;
    }
  }
  if (exceeded)
    for (const { limiter, requests, window } of counts)
      if (window !== undefined) limiter.giveBack(requests, window);
  setFields(ctx, counts);
  return exceeded && problemOf(exceeded);
}

/** Sets Lists of Strings, each with Integers as parameters (RFC 9651). */
function setFields(ctx: LimitedContext, counts: readonly CountedRequests[]): void {
  let policies = '';
  let standings = '';
  for (const { applied, limiter } of counts) {
    const separator = policies === '' ? '' : ', ';
    policies += `${separator}${applied.announced}`;
    standings += `${separator}"${applied.limit.name}";r=${limiter.remaining};t=${limiter.seconds}`;
  }
  ctx.set('RateLimit-Policy', policies);
  ctx.set('RateLimit', standings);
}

function problemOf({ applied, limiter, requests: wanted }: CountedRequests): Problem {
  const { name, requests, window } = applied.limit;
  const { remaining, seconds } = limiter;
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
