import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Context } from 'koa';

import type { Problem } from './problem.ts';
import { createArrivingBodies, isArriving } from './arriving-bodies.ts';

/** Why a request is not run: the server has begun to close, or too many requests are running. */
export type Overload = 'closing' | 'overloaded';

/** The parts of a Koa context that the limit reads. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body?: unknown;
}

/** Limits how many requests run at once, and waits for the running ones at shutdown. */
export interface ConcurrencyLimit {
  /** Whether every response ends its connection, because the server has begun to drain or to close. */
  readonly isDraining: boolean;
  /** Whether new requests are refused because the server has begun to close. */
  readonly isClosing: boolean;
  /** How many requests are running, including those whose body is still being received. */
  readonly count: number;
  /** Runs the work of a request, or refuses it at once: requests do not queue. */
  run<T>(
    exchange: Exchange,
    work: () => Promise<T>,
    refuse: (overload: Overload) => T | Promise<T>,
  ): Promise<T>;
  /** Ends the connection with each response from here on (RFC 9112 section 9.6). Requests are still run. */
  drain(): void;
  /** Refuses all requests from here on. Resolves when those that are running have ended. */
  close(): Promise<void>;
}

/** The limits of all requests together. */
export interface RequestLimits {
  /** How many requests may run at once, from when they arrive until they are answered. 0: any number. */
  readonly maxRequests: number;
  /** In seconds: how long a body may take to arrive. */
  readonly bodyTimeout: number;
  /** In bytes: how large the bodies of all requests may be together, without those of 64 KiB and less. 0: any size. */
  readonly maxBodyBytes: number;
}

export function createConcurrencyLimit({
  bodyTimeout,
  maxBodyBytes,
  maxRequests,
}: RequestLimits): ConcurrencyLimit {
  const limit = maxRequests === 0 ? Infinity : maxRequests;
  const bodies = createArrivingBodies({
    timeout: bodyTimeout,
    capacity: maxBodyBytes === 0 ? Infinity : maxBodyBytes,
  });
  const drained = Promise.withResolvers<void>();
  let isDraining = false;
  let isClosing = false;
  let count = 0;
  // How many of the counted requests were evicted and are about to end.
  let evicted = 0;

  function resolveIfDrained(): void {
    if (isClosing && count === 0) drained.resolve();
  }

  return {
    get isDraining() {
      return isDraining;
    },
    get isClosing() {
      return isClosing;
    },
    get count() {
      return count;
    },
    async run(exchange, work, refuse) {
      if (isClosing) return refuse('closing');
      if (count - evicted >= limit) {
        if (!bodies.evictOldest()) return refuse('overloaded');
        evicted += 1;
      }
      count += 1;
      // Node passes on a body that has come with the header before the next microtask, and such a body needs no timeout. One that
      // middleware of the host has begun to read must be read by others now.
      if (exchange.req.readableFlowing === null && isArriving(exchange.req)) await Promise.resolve();
      const endBody = bodies.track(exchange.req);
      const end = (): void => {
        if (endBody?.() === 'evicted') evicted -= 1;
        count -= 1;
        resolveIfDrained();
      };
      const { res } = exchange;
      try {
        return await work();
      } finally {
        if (isDraining && !res.headersSent) res.setHeader('Connection', 'close');
        // A stream is still being sent after the middleware has returned. While the server is closing, every response is
        // awaited: the process may exit as soon as close() resolves, and would lose a response that was not sent yet.
        if ((isClosing || isStream(exchange.body)) && !res.closed) res.once('close', end);
        else end();
      }
    },
    drain() {
      isDraining = true;
    },
    async close() {
      isDraining = true;
      isClosing = true;
      resolveIfDrained();
      return drained.promise;
    },
  };
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'pipe' in body;
}

/** Why a request was refused, for the `error_description` of an OAuth error: a phrase without a full stop. */
export const OVERLOAD_REASONS: Readonly<Record<Overload, string>> = {
  closing: 'the server is stopping; send the request again',
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
  overloaded: 'The server has too many requests at the moment. Try again later.',
};

/**
 * Whether an error that Koa reports is one of the client's connection: the connection was closed, or the bytes are not HTTP.
 * Such an error is not logged: it is no fault of the server, and Node attaches the bytes that it could not parse, which may
 * contain passwords and secrets.
 */
export function isConnectionError(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  return ctx?.req.socket.errored === error || String(error.code).startsWith(PARSER_ERROR);
}

const PARSER_ERROR = 'HPE_';
