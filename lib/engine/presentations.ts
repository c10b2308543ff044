import type { ServerResponse } from 'node:http';
import { setImmediate as letOthersIn, setTimeout as wait } from 'node:timers/promises';

import type { Credential } from '../contracts.ts';

// How many times in a row nothing has come when an answer is given: no second request, or once there was one, no other.
// Counted and not measured, because a process that had to wait for a busy processor has not listened. Where all of them
// are busy, one burst in five needs the first time and one in a hundred the second; the rest are to spare.
const TIMES = 5;
const TIMES_IN_BURST = 50;

// In milliseconds: how long it listens each time, and how long an answer is held back at most.
const LISTENING = 5;
const LONGEST_HOLD = 30_000;

// In milliseconds: how long after it was spent on another node a credential counts as presented at the same time.
// Nothing tells here when that node has answered, and its clock may differ by some seconds.
const LEEWAY_OF_OTHER_NODES = 5000;

/**
 * Tells a theft from a duplicate. A credential that comes back after it was spent has been stolen, or a client has sent
 * one request many times at once; the first must revoke the family (RFC 6749 section 4.1.2, RFC 9700 section 4.14.2),
 * the second must not log an honest user out.
 *
 * What divides them is the answer: nobody who has it sends again. But a server can be done with the first request of a
 * burst before the client has sent the last, so the answer is held back until no more come.
 */
export interface Presentations {
  /**
   * Notes that a request presents a credential. Call it before the credential is looked up.
   * @param grace - in seconds: how long after it was spent a credential may come back in any case
   */
  begin(id: string, grace: number, response: ServerResponse): Presentation;
}

/** What one request has to know about the others that present the same credential. */
export interface Presentation {
  /** Whether a credential is presented again rather than many times at once. */
  isReplay(credential: Pick<Credential, 'consumedAt'>): boolean;
  /** Holds the answer back, when this request has spent the credential. */
  hold(): Promise<void>;
}

interface Presented {
  requests: number;
  /** What became of the answer to the request that has spent the credential, if it was one of this node. */
  answer?: 'held' | 'given';
  /** How many still need to know this. */
  holders: number;
}

/** With a grace, the time alone decides, and no other request has to be known of. */
class GracefulPresentation implements Presentation {
  readonly #at = Date.now();
  readonly #grace: number;

  /** @param grace - in seconds */
  constructor(grace: number) {
    this.#grace = grace * 1000;
  }

  isReplay({ consumedAt }: Pick<Credential, 'consumedAt'>): boolean {
    return consumedAt !== undefined && this.#at - consumedAt >= this.#grace;
  }

  async hold(): Promise<void> {}
}

export function createPresentations(): Presentations {
  const presented = new Map<string, Presented>();
  // In the order in which they were answered. One timer for each would be much to keep for seconds.
  const answered = new Set<{ readonly id: string; readonly entry: Presented; readonly until: number }>();
  const nextListening = createListening();

  function release(id: string, entry: Presented): void {
    entry.holders -= 1;
    if (entry.holders === 0) presented.delete(id);
  }

  function releaseAnswered(now: number): void {
    for (const one of answered) {
      if (one.until > now) return;
      answered.delete(one);
      release(one.id, one.entry);
    }
  }

  return {
    begin(id, grace, response) {
      if (grace > 0) return new GracefulPresentation(grace);
      const at = Date.now();
      releaseAnswered(performance.now());
      const entry = presented.get(id) ?? { requests: 0, holders: 0 };
      presented.set(id, entry);
      const isLate = entry.answer === 'given';
      entry.requests += 1;
      entry.holders += 1;
      whenOver(response, () => release(id, entry));
      return {
        isReplay({ consumedAt }) {
          if (consumedAt === undefined) return false;
          return isLate || (entry.answer === undefined && at - consumedAt >= LEEWAY_OF_OTHER_NODES);
        },
        async hold() {
          entry.holders += 1;
          entry.answer = 'held';
          await burstIsOver(entry, nextListening);
          entry.answer = 'given';
          answered.add({ id, entry, until: performance.now() + LEEWAY_OF_OTHER_NODES });
        },
      };
    },
  };
}

/** Calls back when a response was sent, or will never be, also when its client has gone already. */
function whenOver(response: ServerResponse, callBack: () => void): void {
  if (response.closed) callBack();
  else response.once('close', callBack);
}

async function burstIsOver(entry: Presented, nextListening: () => Promise<void>): Promise<void> {
  const latest = Date.now() + LONGEST_HOLD;
  let seen = entry.requests;
  // It began before this request came to it, so it is none of the times.
  await nextListening();
  for (let quiet = 0; quiet < (seen > 1 ? TIMES_IN_BURST : TIMES);) {
    await nextListening();
    quiet = entry.requests === seen || Date.now() >= latest ? quiet + 1 : 0;
    seen = entry.requests;
  }
}

/** Listens for as long as anybody wants to hear: all answers that are held back share the times. */
function createListening(): () => Promise<void> {
  let underway: Promise<void> | undefined;

  async function listen(): Promise<void> {
    await wait(LISTENING);
    await letOthersIn();
    underway = undefined;
  }

  return async () => {
    underway ??= listen();
    return underway;
  };
}
