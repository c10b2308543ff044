import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Context } from 'koa';

import type { Problem } from './problem.ts';
import { createArrivingBodies } from './arriving-bodies.ts';

/** Why a request is not run: the server has begun to close, or too many requests are running. */
export type Overload = 'closing' | 'overloaded';

/** What is looked at of a request: a Koa context has it. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body?: unknown;
}

/** Limits how many requests run at once, and tells when the last one has ended. */
export interface ConcurrencyLimit {
  /** Whether requests that arrive are refused, because the server has begun to close. */
  readonly isClosing: boolean;
  /** How many requests are running, those whose body is still arriving among them. */
  readonly count: number;
  /** Runs the work of a request, or refuses it at once: requests do not queue. */
  run<T>(
    exchange: Exchange,
    work: () => Promise<T>,
    refuse: (overload: Overload) => T | Promise<T>,
  ): Promise<T>;
  /** Refuses all requests from here on. Resolves when those that are running have ended. */
  close(): Promise<void>;
}

/** What all requests together may take. */
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
    room: maxBodyBytes === 0 ? Infinity : maxBodyBytes,
  });
  const empty = Promise.withResolvers<void>();
  let isClosing = false;
  let count = 0;
  // Of those, how many were evicted for others and are about to end.
  let evicted = 0;

  function settle(): void {
    if (isClosing && count === 0) empty.resolve();
  }

  return {
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
      const end = bodies.follow(exchange.req);
      const leave = (): void => {
        if (end() === 'evicted') evicted -= 1;
        count -= 1;
        settle();
      };
      const { res } = exchange;
      try {
        return await work();
      } finally {
        if (isClosing && !res.headersSent) res.setHeader('Connection', 'close');
        // A stream goes on making its answer after the middleware has ended. And a process that ends when the server is
        // closed must not take an answer with it that is made, but not sent.
        if ((isClosing || isStream(exchange.body)) && !res.closed) res.once('close', leave);
        else leave();
      }
    },
    async close() {
      isClosing = true;
      settle();
      return empty.promise;
    },
  };
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'pipe' in body;
}

/** Why a request was refused, in words for whoever sent it, without a full stop. */
export const OVERLOAD_REASONS: Readonly<Record<Overload, string>> = {
  closing: 'the server is stopping; send the request again',
  overloaded: 'the server has too many requests at the moment; try again later',
};

/** The header fields of a refused request: when to come back and, from a server that stops, not on this connection. */
export function overloadHeaders(overload: Overload): Readonly<Record<string, string>> {
  return { 'Retry-After': '1', ...(overload === 'closing' && { Connection: 'close' }) };
}

/** The problem with which the API answers a refused request. */
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
 * Whether what Koa reports is an error of the client's connection: it went away, or what it sends is no HTTP. That is no
 * fault of the server, and nothing to log: Node leaves the bytes that it could not read on the error, with whatever
 * passwords and secrets they hold.
 */
export function isConnectionError(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  return ctx?.req.socket.errored === error || String(error.code).startsWith(PARSER_ERROR);
}

const PARSER_ERROR = 'HPE_';
