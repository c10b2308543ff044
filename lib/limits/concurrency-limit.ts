import type { Middleware } from 'koa';

import { toMilliseconds } from '../contracts/duration.ts';
import type { ConcurrencyLimit, Overload } from '../contracts/index.ts';
import { closeAfterResponse, exposeConnectionErrors, whenSent } from '../http/connection.ts';
import { sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { requestOf } from '../http/request.ts';
import { hasTooManyParameters, TOO_MANY_PARAMETERS_PROBLEM } from '../http/query.ts';
import { watchPauses } from '../http/pauses.ts';
import { createPlaces } from '../http/places.ts';
import { createSendingResponses } from '../http/sending-responses.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createArrivingBodies, isArriving } from '../http/arriving-bodies.ts';

/** Limits all requests together, and their bodies. */
export function createConcurrencyLimit({
  maxTotalBodyBytes,
  bodyTimeout,
  concurrency,
}: Pick<ResolvedOptions['limits'], 'maxTotalBodyBytes' | 'bodyTimeout' | 'concurrency'>): ConcurrencyLimit {
  const limit = concurrency === 0 ? Infinity : concurrency;
  const streamsPerCaller = Math.ceil(limit / 10);
  const takeStream = createPlaces();
  const bodies = createArrivingBodies({
    timeout: bodyTimeout,
    capacity: maxTotalBodyBytes === 0 ? Infinity : maxTotalBodyBytes,
  });
  const responses = createSendingResponses(toMilliseconds(bodyTimeout));
  const pauses = watchPauses();
  const drained = Promise.withResolvers<void>();
  let isDraining = false;
  let isClosing = false;
  let count = 0;
  // How many of the counted requests were evicted and are about to end.
  let evicted = 0;

  function overloadNow(): Overload | undefined {
    const { refusal } = server;
    if (refusal !== undefined || count - evicted < limit) return refusal;
    if (!bodies.evictOldest() && !responses.evictOldest()) return 'overloaded';
    evicted += 1;
    return undefined;
  }

  const server: ConcurrencyLimit = {
    get isDraining() {
      return isDraining;
    },
    get refusal() {
      if (isClosing) return 'closing';
      return pauses.isLate ? 'late' : undefined;
    },
    get count() {
      return count;
    },
    async run(ctx, work, refuse) {
      const { req, res } = ctx;
      const overload = overloadNow();
      if (overload !== undefined) {
        try {
          return await refuse(overload);
        } finally {
          if (isDraining) closeAfterResponse(ctx);
          server.limitSending(res);
        }
      }
      count += 1;
      const endExposure = exposeConnectionErrors(ctx);
      let arriving: ReturnType<typeof bodies.track>;
      // A request of HTTP/1 without a body has neither field.
      if ('content-length' in req.headers || 'transfer-encoding' in req.headers || req.httpVersionMajor > 1) {
        // Node passes on a body that has come with the header before the next microtask, and such a body needs no timeout. A body that
        // middleware of the host has begun to read must be read at once.
        if (req.readableFlowing === null && isArriving(req)) await Promise.resolve();
        arriving = bodies.track(req);
        if (arriving) requestOf(ctx).body = arriving;
      }
      const end = (how?: 'evicted' | 'ended'): void => {
        if (arriving && bodies.end(arriving) === 'evicted') evicted -= 1;
        if (how === 'evicted') evicted -= 1;
        count -= 1;
        endExposure();
        if (isClosing && count === 0) drained.resolve();
      };
      let isAnswered = true;
      try {
        const result = await work();
        isAnswered = result !== false;
        return result;
      } finally {
        if (isDraining) closeAfterResponse(ctx);
        const { body } = ctx;
        const isStream = typeof body === 'object' && body !== null && 'pipe' in body;
        if (isAnswered) responses.watch(res, isStream, end);
        else end();
      }
    },
    limitSending(res) {
      responses.watch(res, false);
    },
    admitStream(caller, res) {
      const leave = takeStream([{ id: caller, limit: streamsPerCaller }]);
      if (!leave) return false;
      whenSent(res, leave);
      return true;
    },
    drain() {
      isDraining = true;
    },
    async close() {
      isDraining = true;
      isClosing = true;
      pauses.end();
      if (count === 0) drained.resolve();
      return drained.promise;
    },
  };
  return server;
}

/** The first middleware of an API: refuses requests with a problem before reading anything else of them. */
export function admitRequests(server: Pick<ConcurrencyLimit, 'run'>): Middleware {
  return (ctx, next) =>
    hasTooManyParameters(ctx)
      ? sendProblem(ctx, TOO_MANY_PARAMETERS_PROBLEM)
      : server.run(ctx, next, (overload) => {
          // An API may be mounted without the server's own middleware in front, which does this for all requests.
          if (overload === 'closing') closeAfterResponse(ctx);
          sendProblem(ctx, overloadProblem(overload));
        });
}

/** Why a request was refused, for the `error_description` of an OAuth error: a phrase without a full stop. */
export const OVERLOAD_REASONS: Readonly<Record<Overload, string>> = {
  closing: 'the server is stopping; send the request again',
  late: 'the request has waited too long; send it again',
  overloaded: 'the server has too many requests at the moment; try again later',
};

/** The header fields of a refused request. */
export const OVERLOAD_HEADERS: Readonly<Record<string, string>> = { 'Retry-After': '1' };

/** The API's problem for a refused request. */
export function overloadProblem(overload: Overload): Problem {
  return {
    status: 503,
    code: 'temporarily_unavailable',
    detail: DETAILS[overload],
    headers: OVERLOAD_HEADERS,
  };
}

const DETAILS: Readonly<Record<Overload, string>> = {
  closing: 'The server is stopping. Send the request again.',
  late: 'The request has waited too long. Send it again.',
  overloaded: 'The server has too many requests at the moment. Try again later.',
};
