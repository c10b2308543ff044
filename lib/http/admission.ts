import type { IncomingMessage, ServerResponse } from 'node:http';

import { createReception } from './reception.ts';

/** Why a request is not let in: the server has begun to close, or too many requests are running. */
export type Refusal = 'closing' | 'overloaded';

/** What is looked at of a request: a Koa context has it. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body?: unknown;
}

/** Counts the requests that are let in, limits how many run at once, and knows when the last one has ended. */
export interface Admission {
  /** Whether requests that arrive are refused, because the server has begun to close. */
  readonly isClosing: boolean;
  /** How many requests are let in and have not ended, those whose body is still arriving among them. */
  readonly count: number;
  /** Does the work of a request, or, when it is not let in, refuses it. Nothing is waited for before either. */
  admit<T>(
    exchange: Exchange,
    work: () => Promise<T>,
    refuse: (refusal: Refusal) => T | Promise<T>,
  ): Promise<T>;
  /** Refuses all that arrive from here on. Resolves when those that were let in before have ended. */
  close(): Promise<void>;
}

/** What all requests together may take. */
export interface AdmissionLimits {
  /** How many requests may run at once, from when they arrive until they are answered. 0: any number. */
  readonly maxRequests: number;
  /** In seconds: how long a body may take to arrive. */
  readonly bodyTimeout: number;
  /** In bytes: how large the bodies of all requests may be together, without those of 64 KiB and less. 0: any size. */
  readonly maxBodyBytes: number;
}

export function createAdmission({ bodyTimeout, maxBodyBytes, maxRequests }: AdmissionLimits): Admission {
  const limit = maxRequests === 0 ? Infinity : maxRequests;
  const reception = createReception({
    timeout: bodyTimeout,
    room: maxBodyBytes === 0 ? Infinity : maxBodyBytes,
  });
  const empty = Promise.withResolvers<void>();
  let isClosing = false;
  let count = 0;
  // Of those, how many have made way for others and are about to end.
  let yielding = 0;

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
    async admit(exchange, work, refuse) {
      if (isClosing) return refuse('closing');
      if (count - yielding >= limit) {
        if (!reception.giveUpSlowest()) return refuse('overloaded');
        yielding += 1;
      }
      count += 1;
      const end = reception.follow(exchange.req);
      const leave = (): void => {
        if (end() === 'made way') yielding -= 1;
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
