import type { Middleware } from 'koa';

import { toMilliseconds } from '../contracts/duration.ts';
import type { ConcurrencyLimit, Overload } from '../contracts/index.ts';
import { whenClosed } from '../http/closed.ts';
import { closeAfterResponse, exposeConnectionErrors } from '../http/connection.ts';
import { sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { hasTooManyParameters, TOO_MANY_PARAMETERS_PROBLEM } from '../http/query.ts';
import { watchPauses } from '../http/pauses.ts';
import { createPlaces } from '../http/places.ts';
import { createSendingResponses } from '../http/sending-responses.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createArrivingBodies, isArriving } from '../http/arriving-bodies.ts';

/** Limits all requests together, and their bodies. */
export function createConcurrencyLimit({
  bodyBytes,
  bodyTimeout,
  requests,
}: Pick<ResolvedOptions['limits'], 'bodyBytes' | 'bodyTimeout' | 'requests'>): ConcurrencyLimit {
  const limit = requests === 0 ? Infinity : requests;
  const streamsPerCaller = Math.ceil(limit / 10);
  const takeStream = createPlaces();
  const bodies = createArrivingBodies({
    timeout: bodyTimeout,
    capacity: bodyBytes === 0 ? Infinity : bodyBytes,
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
    async run(exchange, work, refuse) {
      const { req, res } = exchange;
      const overload = overloadNow();
      if (overload !== undefined) {
        try {
          return await refuse(overload);
        } finally {
          if (isDraining) closeAfterResponse(exchange);
          server.limitSending(res);
        }
      }
      count += 1;
      const endExposure = exposeConnectionErrors(exchange);
      let endBody: ReturnType<typeof bodies.track>;
      // A request without a body has neither field.
      if ('content-length' in req.headers || 'transfer-encoding' in req.headers) {
        // Node passes on a body that has come with the header before the next microtask, and such a body needs no timeout. One that
        // middleware of the host has begun to read must be read by others now.
        if (req.readableFlowing === null && isArriving(req)) await Promise.resolve();
        endBody = bodies.track(req);
      }
      const end = (how?: 'evicted' | 'ended'): void => {
        if (endBody?.() === 'evicted') evicted -= 1;
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
        if (isDraining) closeAfterResponse(exchange);
        const { body } = exchange;
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
      whenClosed(res, leave);
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

/** The first middleware of an API: refuses requests, with problems, before anything else is read of them. */
export function admitRequests(server: Pick<ConcurrencyLimit, 'run'>): Middleware {
  return (ctx, next) =>
    hasTooManyParameters(ctx)
      ? sendProblem(ctx, TOO_MANY_PARAMETERS_PROBLEM)
      : server.run(ctx, next, (overload) => sendProblem(ctx, overloadProblem(overload)));
}

/** Why a request was refused, for the `error_description` of an OAuth error: a phrase without a full stop. */
export const OVERLOAD_REASONS: Readonly<Record<Overload, string>> = {
  closing: 'the server is stopping; send the request again',
  late: 'the request has waited too long; send it again',
  overloaded: 'the server has too many requests at the moment; try again later',
};

/** The header fields of a refused request: when to retry and, when the server is closing, that the connection ends. */
export function overloadHeaders(overload: Overload): Readonly<Record<string, string>> {
  return { 'Retry-After': '1', ...(overload === 'closing' && { Connection: 'close' }) };
}

/** The API's problem for a refused request. */
export function overloadProblem(overload: Overload): Problem {
  return {
    status: 503,
    code: 'temporarily_unavailable',
    detail: DETAILS[overload],
    headers: overloadHeaders(overload),
  };
}

const DETAILS: Readonly<Record<Overload, string>> = {
  closing: 'The server is stopping. Send the request again.',
  late: 'The request has waited too long. Send it again.',
  overloaded: 'The server has too many requests at the moment. Try again later.',
};
