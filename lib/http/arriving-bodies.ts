import type { IncomingMessage } from 'node:http';

/** Why a body is not taken: there is no room for it now, or there never is. */
export type BodyLimitFault = 'no room' | 'too large';

/** What the bodies of all requests that run may take. */
export interface BodyLimits {
  /** In seconds: how long a body may take to arrive. */
  readonly timeout: number;
  /** In bytes, of all together, without those that are small. `Infinity`: any number. */
  readonly room: number;
}

/** The body of a request that runs. */
export interface ArrivingBody {
  /** Asks for room for so many bytes more. It is given back when the request has ended. */
  take(bytes: number): BodyLimitFault | undefined;
  /** Waits for what reads the body, for as long as there is time for it; `undefined` when there is none left. */
  inTime<T>(reading: Promise<T>): Promise<T | undefined>;
}

/** The bodies that are still arriving, the oldest first. Gives up those that do not arrive in time. */
export interface ArrivingBodies {
  /**
   * Follows the body of a request. Call the function that comes back once, when the request has ended: it tells whether the
   * body was given up for the sake of another request.
   */
  follow(req: IncomingMessage): () => 'evicted' | 'ended';
  /**
   * Gives up the body that has been arriving longest, when that is more than a second, so that slow senders do not keep
   * others out. `false`: there is none.
   */
  evictOldest(): boolean;
}

/** In bytes. Bodies up to this size are not counted: their number is bounded by that of the requests. */
const UNCOUNTED = 64 * 1024;

/** In milliseconds. A body is not evicted before. */
const EVICTABLE_AFTER = 1000;

// On the request itself: a map of all that are under way costs a request more than the rest of this.
const BODY = Symbol('gatehouse.body');

interface WithBody {
  [BODY]?: ArrivingBody;
}

/** The body of a request, where requests are counted. */
export function arrivingBodyOf(req: IncomingMessage): ArrivingBody | undefined {
  return (req as WithBody)[BODY];
}

class FollowedBody implements ArrivingBody {
  readonly since = performance.now();
  readonly #req: IncomingMessage;
  readonly #room: { left: number; readonly all: number };
  #asked = 0;
  #taken = 0;
  #giveUp: (() => void) | undefined;
  #isGivenUp = false;
  isEvicted = false;

  constructor(req: IncomingMessage, room: { left: number; readonly all: number }) {
    this.#req = req;
    this.#room = room;
  }

  take(bytes: number): BodyLimitFault | undefined {
    this.#asked += bytes;
    if (this.#asked <= UNCOUNTED) return undefined;
    if (this.#asked > this.#room.all) return 'too large';
    const more = this.#asked - this.#taken;
    if (more > this.#room.left) return 'no room';
    this.#taken += more;
    this.#room.left -= more;
    return undefined;
  }

  async inTime<T>(reading: Promise<T>): Promise<T | undefined> {
    if (this.#isGivenUp) {
      // Its rejection is handled here: the caller gets `undefined`.
      reading.catch(() => {});
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#giveUp = () => resolve(undefined);
      reading.then(resolve, reject);
    });
  }

  /** Whether it has arrived whole: then it is the server that takes its time. */
  get isComplete(): boolean {
    return this.#req.complete;
  }

  /** Whether it is being read. While it is not, the sender cannot go on. */
  get isRead(): boolean {
    return this.#req.readableFlowing === true || this.#req.listenerCount('readable') > 0;
  }

  giveUp(): void {
    this.#isGivenUp = true;
    if (this.#giveUp) this.#giveUp();
    // What reads it, the engine or the host, cannot be told.
    else this.#req.destroy();
  }

  end(): void {
    this.#room.left += this.#taken;
    this.#taken = 0;
  }
}

export function createArrivingBodies(limits: BodyLimits): ArrivingBodies {
  const timeout = limits.timeout * 1000;
  const room = { left: limits.room, all: limits.room };
  // In the order in which their requests began.
  const arriving = new Set<FollowedBody>();
  let timer: NodeJS.Timeout | undefined;

  function giveUp(body: FollowedBody): void {
    arriving.delete(body);
    body.giveUp();
  }

  /** One timer for all of them: one for each would cost every request. */
  function watch(): void {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        const late = performance.now() - timeout;
        for (const body of arriving) {
          if (body.since > late) break;
          if (body.isComplete) arriving.delete(body);
          else if (body.isRead) giveUp(body);
        }
        if (arriving.size > 0) watch();
      },
      Math.min(timeout / 4, 1000),
    ).unref();
  }

  return {
    follow(req) {
      const body = new FollowedBody(req, room);
      (req as WithBody)[BODY] = body;
      if (isArriving(req)) {
        arriving.add(body);
        watch();
      }
      return () => {
        arriving.delete(body);
        body.end();
        return body.isEvicted ? 'evicted' : 'ended';
      };
    },
    evictOldest() {
      const latest = performance.now() - EVICTABLE_AFTER;
      for (const body of arriving) {
        if (body.since > latest) return false;
        if (body.isComplete || !body.isRead) continue;
        body.isEvicted = true;
        giveUp(body);
        return true;
      }
      return false;
    },
  };
}

function isArriving({ complete, headers }: IncomingMessage): boolean {
  return !complete && (Number(headers['content-length']) > 0 || 'transfer-encoding' in headers);
}
