import type { IncomingMessage } from 'node:http';

/** Why a body is refused: the memory for bodies is used up at present, or the body is larger than all of it. */
export type BodyLimitFault = 'no capacity' | 'too large';

/** The limits of the bodies of all running requests. */
export interface BodyLimits {
  /** In seconds: how long a body may take to arrive. */
  readonly timeout: number;
  /** In bytes, for all bodies together except those of up to 64 KiB. `Infinity`: no limit. */
  readonly capacity: number;
}

/** The body of a running request. */
export interface ArrivingBody {
  /** Reserves memory for further bytes. It is released when the request ends. */
  reserve(bytes: number): BodyLimitFault | undefined;
  /** Waits for the reader of the body until the timeout; `undefined` when the body was not received by then. */
  withTimeout<T>(reading: Promise<T>): Promise<T | undefined>;
}

/** The bodies that are being received, the oldest first. Those that exceed the timeout are aborted. */
export interface ArrivingBodies {
  /**
   * Registers the body of a request. The function that is returned must be called once, when the request has ended; it returns
   * `'evicted'` when the body was aborted to admit another request. `undefined`: there is no body, or Node has received all of it.
   */
  track(req: IncomingMessage): (() => 'evicted' | 'ended') | undefined;
  /**
   * Aborts the body that has been arriving for the longest time, if that is more than a second, so that slow clients cannot use
   * up the limit of concurrent requests. `false`: there is no such body.
   */
  evictOldest(): boolean;
}

/** In bytes. Smaller bodies are not counted: the limit of concurrent requests bounds their number. */
const UNCOUNTED = 64 * 1024;

/** In milliseconds. A body is not evicted earlier. */
const EVICTABLE_AFTER = 1000;

// A property of the request is cheaper than an entry in a map of all requests, which would cost more than the rest of this
// file.
const BODY = Symbol('gatehouse.body');

interface WithBody {
  [BODY]?: ArrivingBody;
}

/** The tracked body of a request; `undefined` when it has arrived already, or the server does not limit its requests. */
export function arrivingBodyOf(req: IncomingMessage): ArrivingBody | undefined {
  return (req as WithBody)[BODY];
}

class TrackedBody implements ArrivingBody {
  readonly since = performance.now();
  readonly #req: IncomingMessage;
  readonly #capacity: { left: number; readonly all: number };
  #requested = 0;
  #reserved = 0;
  #onAbort: (() => void) | undefined;
  #isAborted = false;
  isEvicted = false;

  constructor(req: IncomingMessage, capacity: { left: number; readonly all: number }) {
    this.#req = req;
    this.#capacity = capacity;
  }

  reserve(bytes: number): BodyLimitFault | undefined {
    this.#requested += bytes;
    if (this.#requested <= UNCOUNTED) return undefined;
    if (this.#requested > this.#capacity.all) return 'too large';
    const more = this.#requested - this.#reserved;
    if (more > this.#capacity.left) return 'no capacity';
    this.#reserved += more;
    this.#capacity.left -= more;
    return undefined;
  }

  async withTimeout<T>(reading: Promise<T>): Promise<T | undefined> {
    if (this.#isAborted) {
      // Without a handler, a rejection would be unhandled: the caller gets `undefined`.
      reading.catch(() => {});
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#onAbort = () => resolve(undefined);
      reading.then(resolve, reject);
    });
  }

  /** Whether the whole body was received: any further delay is then the server's. */
  get isComplete(): boolean {
    return this.#req.complete;
  }

  /** Whether the body is being read. While it is not, flow control stops the sender. */
  get isRead(): boolean {
    return this.#req.readableFlowing === true || this.#req.listenerCount('readable') > 0;
  }

  abort(): void {
    this.#isAborted = true;
    if (this.#onAbort) this.#onAbort();
    // The engine or the host reads this body, and neither can be notified.
    else this.#req.destroy();
  }

  release(): void {
    this.#capacity.left += this.#reserved;
    this.#reserved = 0;
  }
}

export function createArrivingBodies(limits: BodyLimits): ArrivingBodies {
  const timeout = limits.timeout * 1000;
  const capacity = { left: limits.capacity, all: limits.capacity };
  // In the order in which the requests began.
  const arriving = new Set<TrackedBody>();
  let timer: NodeJS.Timeout | undefined;

  function abort(body: TrackedBody): void {
    arriving.delete(body);
    body.abort();
  }

  /** One timer for all bodies: a timer per body would add its cost to every request. */
  function scheduleTimeouts(): void {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        const deadline = performance.now() - timeout;
        for (const body of arriving) {
          if (body.since > deadline) break;
          if (body.isComplete) arriving.delete(body);
          else if (body.isRead) abort(body);
        }
        if (arriving.size > 0) scheduleTimeouts();
      },
      Math.min(timeout / 4, 1000),
    ).unref();
  }

  return {
    track(req) {
      if (!isArriving(req)) return undefined;
      const body = new TrackedBody(req, capacity);
      (req as WithBody)[BODY] = body;
      arriving.add(body);
      scheduleTimeouts();
      return () => {
        arriving.delete(body);
        body.release();
        return body.isEvicted ? 'evicted' : 'ended';
      };
    },
    evictOldest() {
      const latest = performance.now() - EVICTABLE_AFTER;
      for (const body of arriving) {
        if (body.since > latest) return false;
        if (body.isComplete || !body.isRead) continue;
        body.isEvicted = true;
        abort(body);
        return true;
      }
      return false;
    },
  };
}

/** Whether a request has a body of which Node has not received all. */
export function isArriving({ complete, headers, readableLength }: IncomingMessage): boolean {
  if (complete) return false;
  return Number(headers['content-length']) > readableLength || 'transfer-encoding' in headers;
}
