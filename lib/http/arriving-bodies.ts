import type { IncomingMessage } from 'node:http';

import { toMilliseconds } from '../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import type { OnConnection } from './connection.ts';

/** In bytes. Smaller bodies are not counted: the limit of concurrent requests bounds their number. */
const UNCOUNTED = 64 * 1024;

/** A body is not evicted earlier. */
const EVICTABLE_AFTER: Milliseconds = 1000;

/** The body of a running request. */
export class ArrivingBody {
  readonly since: Milliseconds = performance.now();
  isEvicted = false;
  readonly #req: IncomingMessage & OnConnection;
  readonly #capacity: { left: number; readonly all: number };
  readonly #aborted = Promise.withResolvers<undefined>();
  #isAwaited = false;
  #requested = 0;
  #reserved = 0;
  #isReleased = false;

  constructor(req: IncomingMessage, capacity: { left: number; readonly all: number }) {
    this.#req = req;
    this.#capacity = capacity;
  }

  /**
   * Reserves memory for further bytes, until the request ends.
   *
   * @returns why the body is refused: the memory for bodies is used up at present, or the body is larger than all of it
   */
  reserve(bytes: number): 'no capacity' | 'too large' | undefined {
    // The client of a refused body may still be sending it. Nobody keeps what arrives, and nobody would give the memory back.
    if (this.#isReleased) return undefined;
    this.#requested += bytes;
    if (this.#requested <= UNCOUNTED) return undefined;
    if (this.#requested > this.#capacity.all) return 'too large';
    const more = this.#requested - this.#reserved;
    if (more > this.#capacity.left) return 'no capacity';
    this.#reserved += more;
    this.#capacity.left -= more;
    return undefined;
  }

  /** Waits for the reader of the body until the timeout; `undefined` when the body was not received by then. */
  async withTimeout<T>(reading: Promise<T>): Promise<T | undefined> {
    this.#isAwaited = true;
    return Promise.race([this.#aborted.promise, reading]);
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
    this.#aborted.resolve(undefined);
    // Else the engine or the host reads this body, and neither can be notified.
    if (!this.#isAwaited) (this.#req.stream ?? this.#req).destroy();
  }

  release(): void {
    this.#isReleased = true;
    this.#capacity.left += this.#reserved;
    this.#reserved = 0;
  }
}

/** The bodies that are being received. Those that exceed the timeout are aborted. */
export interface ArrivingBodies {
  /** Registers the body of a request. `undefined`: there is no body, or Node has received all of it. */
  track(req: IncomingMessage): ArrivingBody | undefined;
  /**
   * Must be called once for each registered body, when its request has ended.
   *
   * @returns `'evicted'` when the body was aborted to admit another request
   */
  end(body: ArrivingBody): 'evicted' | 'ended';
  /**
   * Aborts the body that has been arriving for the longest time, if that is more than a second, so that slow clients cannot use
   * up the limit of concurrent requests. `false`: there is no such body.
   */
  evictOldest(): boolean;
}

/**
 * @param limits.timeout - how long a body may take to arrive
 * @param limits.capacity - in bytes, for all bodies together except those of up to 64 KiB. `Infinity`: no limit
 */
export function createArrivingBodies(limits: {
  readonly timeout: Seconds;
  readonly capacity: number;
}): ArrivingBodies {
  const timeout = toMilliseconds(limits.timeout);
  const capacity = { left: limits.capacity, all: limits.capacity };
  // In the order in which the requests began.
  const arriving = new Set<ArrivingBody>();
  let timer: NodeJS.Timeout | undefined;

  /** The bodies that were arriving before a time and are still being read; complete ones are forgotten. */
  function* readSince(time: Milliseconds): Generator<ArrivingBody> {
    for (const body of arriving) {
      if (body.since > time) return;
      if (body.isComplete) arriving.delete(body);
      else if (body.isRead) yield body;
    }
  }

  function abort(body: ArrivingBody): void {
    arriving.delete(body);
    body.abort();
  }

  /** One timer for all bodies: a timer per body would add its cost to every request. */
  function scheduleTimeouts(): void {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        for (const body of readSince(performance.now() - timeout)) abort(body);
        if (arriving.size > 0) scheduleTimeouts();
      },
      Math.min(timeout / 4, 1000),
    ).unref();
  }

  return {
    track(req) {
      if (!isArriving(req)) return undefined;
      const body = new ArrivingBody(req, capacity);
      arriving.add(body);
      scheduleTimeouts();
      return body;
    },
    end(body) {
      arriving.delete(body);
      body.release();
      return body.isEvicted ? 'evicted' : 'ended';
    },
    evictOldest() {
      const [oldest] = readSince(performance.now() - EVICTABLE_AFTER);
      if (!oldest) return false;
      oldest.isEvicted = true;
      abort(oldest);
      return true;
    },
  };
}

/** Whether a request has a body of which Node has not received all. */
export function isArriving({
  complete,
  headers,
  readableLength,
  stream,
}: IncomingMessage & OnConnection): boolean {
  if (complete) return false;
  // Over HTTP/2 a body may have neither field (RFC 9113 section 8.1.1).
  if (stream && headers['content-length'] === undefined) return !stream.endAfterHeaders;
  return Number(headers['content-length']) > readableLength || 'transfer-encoding' in headers;
}
