import { randomUUID } from 'node:crypto';

import { now, secondsSince } from '../contracts/clock.ts';
import type { Logger, Milliseconds, Seconds } from '../contracts/index.ts';
import { logFailure } from '../http/unavailable.ts';
import type { Delivery, DeliveryStore, Outcome, Taken } from './deliveries.ts';
import { createDeliveryPlaces } from './delivery-places.ts';
import type { PlacedDelivery } from './delivery-places.ts';
import type { EndReader } from './end-reader.ts';

/** How long a receiver may take to answer. */
export const ANSWER_TIMEOUT: Milliseconds = 5000;

// Longer than an attempt takes: when it has passed, the node that began the attempt has died.
const LEASE: Seconds = 15;

// How many due deliveries are read for one choice.
const MOST_LISTED = 256;

// The pause between two choices, because many attempts end at about the same time. After a choice that took longer, the pause is as long
// as the choice.
const BETWEEN: Milliseconds = 20;

// In seconds: the pause after the first attempt, three times as long after each further one, and at most the longest.
const PAUSE = { first: 10, longest: 10_800 };

// For how long the sender tries again.
const TOLD_FOR: Seconds = 86_400;

/** What is sent, and how. */
export interface DeliverySenderParts<D extends Delivery> {
  /** What is delivered, in one word, for the log. */
  readonly what: string;
  /** The reader that turns ends into deliveries. */
  readonly ends: Pick<EndReader, 'read'>;
  readonly deliveries: DeliveryStore<D>;
  readonly logger: Logger;
  /**
   * Makes one attempt, and never rejects. Resolves to the reason of a failure, in a word or two that are stored, or to `undefined` when
   * the receiver has confirmed the delivery.
   */
  readonly send: (delivery: D, uri: string) => Promise<string | undefined>;
  /** Called after each attempt, when its result is about to be stored. Never rejects. */
  readonly report: (delivery: D, outcome: Outcome) => Promise<void>;
}

/** Sends deliveries, each until its receiver confirms it or a day has passed, so that no receiver waits for another receiver. */
export interface DeliverySender {
  /** Sends what is due at this time, with the other nodes. Returns at once. */
  trigger(this: void): void;
  /** Takes nothing more. Resolves when the running attempts have ended. */
  stop(this: void): Promise<void>;
}

type Answer = NonNullable<Parameters<PlacedDelivery['leave']>[0]>;

/** How an attempt has ended. */
type Result = Pick<Delivery, 'dueAt' | 'error'>;

export function createDeliverySender<D extends Delivery>({
  deliveries,
  ends,
  logger,
  report,
  send,
  what,
}: DeliverySenderParts<D>): DeliverySender {
  const places = createDeliveryPlaces();
  const attempts = new Set<Promise<void>>();
  let areEndsRead = false;
  let isStopped = false;
  let isTriggered = false;
  let taking: Promise<void> | undefined;
  /** Whether there may be further due deliveries, for which there was no place. */
  let isMoreDue = false;
  let nextChoice: NodeJS.Timeout | undefined;
  let lastTook: Milliseconds = 0;
  let unstored: { readonly delivery: Delivery; readonly result: Result }[] = [];
  let storing: Promise<void> | undefined;

  function trigger(): void {
    areEndsRead = false;
    choose();
  }

  function choose(): void {
    isTriggered = true;
    taking ??= takeDue().finally(() => (taking = undefined));
  }

  /** Takes due deliveries for as long as there are places. Never rejects. */
  async function takeDue(): Promise<void> {
    try {
      // Lets the writes of this turn go first.
      await Promise.resolve();
      while (mayTake()) {
        isTriggered = false;
        const startedAt = performance.now();
        // A failure here does not keep due deliveries from being sent.
        if (!areEndsRead) await readEnds();
        isTriggered = (await takeSome()) || isTriggered;
        lastTook = performance.now() - startedAt;
      }
    } catch (error) {
      // The job triggers it again.
      logFailure(logger, { err: error }, `${what}s not sent`, 'warn');
    }
  }

  /** Turns ends into deliveries. Never rejects. */
  async function readEnds(): Promise<void> {
    areEndsRead = true;
    await ends.read().catch((error: unknown) => logFailure(logger, { err: error }, 'ends not read', 'warn'));
  }

  function mayTake(): boolean {
    return isTriggered && !isStopped;
  }

  /** Takes and starts one delivery of each receiver and owner that has a place. Resolves to whether to look further. */
  async function takeSome(): Promise<boolean> {
    isMoreDue = true;
    if (places.isFull()) return false;
    const at = now();
    const leftOut = places.leftOut();
    const due = await deliveries.listDue({ now: at, limit: MOST_LISTED, except: leftOut });
    const chosen = new Map(
      due.flatMap((one) => {
        const place = places.take(one);
        return place ? [[one.id, place] as const] : [];
      }),
    );
    const isNew = chosen.size > 0 || places.leftOut().receiverIds.length > leftOut.receiverIds.length;
    isMoreDue = due.length > 0 || leftOut.owned || leftOut.receiverIds.length + leftOut.ownerIds.length > 0;
    try {
      const taken = await deliveries.take(randomUUID(), [...chosen.keys()], {
        now: at,
        leasedUntil: at + LEASE,
      });
      for (const delivery of taken) {
        start(delivery, chosen.get(delivery.id)!);
        chosen.delete(delivery.id);
      }
      return isNew;
    } finally {
      // Gives back the places of deliveries that another node has taken.
      for (const { leave } of chosen.values()) leave();
    }
  }

  function start(delivery: Taken<D>, place: PlacedDelivery): void {
    const attempt = tell(delivery)
      .then(place.leave)
      .finally(() => {
        attempts.delete(attempt);
        if (isMoreDue && !isStopped)
          nextChoice ??= setTimeout(chooseAgain, Math.max(BETWEEN, lastTook)).unref();
      });
    attempts.add(attempt);
  }

  function chooseAgain(): void {
    nextChoice = undefined;
    choose();
  }

  /** Resolves to the receiver's answer, or to `undefined` when nothing was sent. Never rejects. */
  async function tell(delivery: Taken<D>): Promise<Answer | undefined> {
    if (delivery.uri === undefined) {
      // The receiver was deleted, or is not told any more.
      finish(delivery, { dueAt: undefined, error: 'no_uri' });
      return undefined;
    }
    const startedAt = performance.now();
    const error = await send(delivery, delivery.uri);
    const seconds = secondsSince(startedAt);
    const attempt = delivery.attempts + 1;
    const dueAt = error === undefined ? undefined : nextAttempt(delivery.createdAt, attempt);
    finish(delivery, { dueAt, error });
    await report(delivery, { attempt, error, isLast: dueAt === undefined, seconds });
    return { isConfirmed: error === undefined, seconds };
  }

  function finish(delivery: Delivery, result: Result): void {
    unstored.push({ delivery, result });
    storing ??= storeResults().finally(() => (storing = undefined));
  }

  /** Stores the results that have come in at the same time with few writes. */
  async function storeResults(): Promise<void> {
    await Promise.resolve();
    while (unstored.length > 0) {
      const results = unstored;
      unstored = [];
      const answeredAt = now();
      for (const [, alike] of Map.groupBy(results, ({ result }) => `${result.dueAt} ${result.error}`)) {
        const [{ result }] = alike as [(typeof alike)[number]];
        await deliveries
          .finish(
            alike.map(({ delivery }) => delivery),
            { ...result, answeredAt },
          )
          // After a failure, the lease ends and the receivers are told again.
          .catch((error: unknown) =>
            logFailure(logger, { err: error }, `results of ${what}s not stored`, 'warn'),
          );
      }
    }
  }

  return {
    trigger,
    async stop() {
      isStopped = true;
      clearTimeout(nextChoice);
      await taking;
      while (attempts.size > 0) await Promise.all(attempts);
      await storing;
    },
  };
}

/** When the receiver is told again after this number of attempts; `undefined` when it is not told any more. */
function nextAttempt(createdAt: Seconds, attempts: number): Seconds | undefined {
  const dueAt = now() + Math.min(PAUSE.first * 3 ** (attempts - 1), PAUSE.longest);
  return dueAt > createdAt + TOLD_FOR ? undefined : dueAt;
}
