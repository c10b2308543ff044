import type { IncomingMessage } from 'node:http';

/** Why a body is not waited for, or not taken: it is late, there is no room for it now, or there never is. */
export type BodyRefusal = 'late' | 'no room' | 'too large';

/** What the bodies of all requests that are let in may take. */
export interface BodyLimits {
  /** In seconds: how long a body may take to arrive. */
  readonly timeout: number;
  /** In bytes, of all together, without those that are small. `Infinity`: any number. */
  readonly room: number;
}

/** The body of a request that was let in. */
export interface IncomingBody {
  /** Asks for room for so many bytes more. It is given back when the request has ended. */
  take(bytes: number): BodyRefusal | undefined;
  /** Waits for what reads the body, for as long as there is time for it; `undefined` when there is none left. */
  inTime<T>(reading: Promise<T>): Promise<T | undefined>;
}

/** Waits for bodies on behalf of the requests that are let in, and gives up those that do not come. */
export interface Reception {
  /**
   * Follows the body of a request; the function that comes back is called once, when the request has ended, and tells whether
   * it has made way for another one.
   */
  follow(req: IncomingMessage): () => 'made way' | 'ended';
  /**
   * Makes the request make way whose body has been on its way longest, when that is more than a second, so that who sends
   * slowly keeps nobody out. `false`: there is none.
   */
  giveUpSlowest(): boolean;
}

/** A body that is not larger takes no room: of those there are no more than requests. */
const SMALL = 64 * 1024;

// In milliseconds. Less than that is no time for a body, however many wait.
const PATIENCE = 1000;

// On the request itself: a map of all that are under way costs a request more than the rest of this.
const BODY = Symbol('gatehouse.body');

interface WithBody {
  [BODY]?: IncomingBody;
}

/** The body of a request, where somebody counts requests. */
export function incomingBodyOf(req: IncomingMessage): IncomingBody | undefined {
  return (req as WithBody)[BODY];
}

class FollowedBody implements IncomingBody {
  readonly since = performance.now();
  readonly #req: IncomingMessage;
  readonly #room: { left: number; readonly all: number };
  #asked = 0;
  #taken = 0;
  #giveUp: (() => void) | undefined;
  #isGivenUp = false;
  madeWay = false;

  constructor(req: IncomingMessage, room: { left: number; readonly all: number }) {
    this.#req = req;
    this.#room = room;
  }

  take(bytes: number): BodyRefusal | undefined {
    this.#asked += bytes;
    if (this.#asked <= SMALL) return undefined;
    if (this.#asked > this.#room.all) return 'too large';
    const more = this.#asked - this.#taken;
    if (more > this.#room.left) return 'no room';
    this.#taken += more;
    this.#room.left -= more;
    return undefined;
  }

  async inTime<T>(reading: Promise<T>): Promise<T | undefined> {
    if (this.#isGivenUp) {
      // Nobody waits for it any more.
      reading.catch(() => {});
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#giveUp = () => resolve(undefined);
      reading.then(resolve, reject);
    });
  }

  /** Whether it has come whole: then it is the server that takes its time. */
  get isHere(): boolean {
    return this.#req.complete;
  }

  /** Whether somebody waits for it. As long as nobody does, it is not the sender's fault that it does not come. */
  get isAwaited(): boolean {
    return this.#req.readableFlowing === true || this.#req.listenerCount('readable') > 0;
  }

  giveUp(): void {
    this.#isGivenUp = true;
    if (this.#giveUp) this.#giveUp();
    // Read by the engine or by the host, who know of no time.
    else this.#req.destroy();
  }

  end(): void {
    this.#room.left += this.#taken;
    this.#taken = 0;
  }
}

export function createReception(limits: BodyLimits): Reception {
  const timeout = limits.timeout * 1000;
  const room = { left: limits.room, all: limits.room };
  // In the order in which their requests were let in.
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
          if (body.isHere) arriving.delete(body);
          else if (body.isAwaited) giveUp(body);
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
      if (isOnItsWay(req)) {
        arriving.add(body);
        watch();
      }
      return () => {
        arriving.delete(body);
        body.end();
        return body.madeWay ? 'made way' : 'ended';
      };
    },
    giveUpSlowest() {
      const latest = performance.now() - PATIENCE;
      for (const body of arriving) {
        if (body.since > latest) return false;
        if (body.isHere || !body.isAwaited) continue;
        body.madeWay = true;
        giveUp(body);
        return true;
      }
      return false;
    },
  };
}

function isOnItsWay({ complete, headers }: IncomingMessage): boolean {
  return !complete && (Number(headers['content-length']) > 0 || 'transfer-encoding' in headers);
}
