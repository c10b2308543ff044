import type { IncomingMessage, ServerResponse } from 'node:http';

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
  /** How many requests are let in and have not ended. */
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

/**
 * @param maxRequests - how many requests may run at once; 0: any number. One whose body is still on its way is not yet
 * running: it costs little, and callers who send slowly must not keep the others out
 */
export function createAdmission(maxRequests: number): Admission {
  const limit = maxRequests === 0 ? Infinity : maxRequests;
  const empty = Promise.withResolvers<void>();
  let isClosing = false;
  let count = 0;
  let receiving = 0;

  function settle(): void {
    if (isClosing && count === 0) empty.resolve();
  }

  /** Lets a request in; the function that comes back is called once, when it has ended. */
  function enter(req: IncomingMessage): () => void {
    let isReceiving = isBodyOnItsWay(req);
    count += 1;
    if (isReceiving) receiving += 1;
    const stopReceiving = (): void => {
      if (isReceiving) receiving -= 1;
      isReceiving = false;
    };
    if (isReceiving) req.once('end', stopReceiving);
    return () => {
      stopReceiving();
      count -= 1;
      settle();
    };
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
      if (count - receiving >= limit) return refuse('overloaded');
      const leave = enter(exchange.req);
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

function isBodyOnItsWay({ complete, headers }: IncomingMessage): boolean {
  return !complete && (Number(headers['content-length']) > 0 || 'transfer-encoding' in headers);
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'pipe' in body;
}
