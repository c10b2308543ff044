import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { now } from '../../contracts/clock.ts';
import type { IdempotencyStore, Logger, StoredRequest } from '../../contracts/index.ts';
import { GatehouseError } from '../../errors.ts';
import { begin, digest } from '../../http/idempotency.ts';
import type { Attempt } from '../../http/idempotency.ts';
import { problemAnswer, whileCallerWaits } from '../actions/answer.ts';
import type { ActionContext, Answer } from '../actions/answer.ts';

/** The work on a request, while it is under way. */
export interface Work {
  /** Aborted when nobody needs the work any more. */
  readonly signal: AbortSignal;
  /**
   * Keeps the answer together with what a transaction of the storage does: both are there afterwards, or neither. `false`:
   * another attempt has taken over, so roll back.
   */
  readonly storeIn: (transaction: unknown, answer: Answer) => Promise<boolean>;
}

/** What somebody asked for, done. */
export interface Done {
  readonly answer: Answer;
  /** Whether a repeat gets this answer. If not, a repeat does the work again: it had no effect, or nobody knows which. */
  readonly keep: boolean;
}

/**
 * Answers a request that may be sent twice. Without an `Idempotency-Key` it does the work, and `signal` is aborted when
 * the caller goes away. With one, the work is done once for the caller and the key, and then to its end whether or not
 * the caller waits, because the repeat gets its answer. Only when the process dies before it has kept the answer, a
 * repeat does the work again, once the lease has ended: then it was done at least once. What is done in one transaction
 * with its answer is done once in any case.
 *
 * @param body - the JSON body: the same key with another body is a mistake
 */
export type AnswerOnce = (
  ctx: ActionContext,
  body: unknown,
  work: (work: Work) => Promise<Done>,
) => Promise<Answer>;

export interface AnswerOnceOptions {
  readonly store: IdempotencyStore;
  readonly logger: Logger;
}

/** How long an answer is kept, in seconds. */
const KEPT = 24 * 3600;

/** How long a repeat waits for the request that it repeats, in milliseconds. */
const PATIENCE = 10_000;

/** In bytes. A longer answer is given, but not kept. */
const LONGEST_ANSWER = 1024 * 1024;

export function createAnswerOnce({ store, logger }: AnswerOnceOptions): AnswerOnce {
  return async function answerOnce(ctx, body, work) {
    const key = readIdempotencyKey(ctx);
    const caller = whileCallerWaits(ctx);
    if (key === undefined) return (await work({ signal: caller, storeIn: async () => true })).answer;

    const request = {
      id: idOf(ctx, key),
      fingerprint: digest([ctx.method, ctx.path, body]),
      attempt: randomUUID(),
    };
    const giveUpAt = Date.now() + PATIENCE;
    for (let pause = 25; !caller.aborted; pause = Math.min(2 * pause, 500)) {
      const found = await begin(store, request, { lease: LEASE, retention: KEPT });
      if (found === undefined) return runAndStore(request, work);
      if (found.fingerprint !== request.fingerprint) return problemAnswer(REUSED);
      if (found.answer) {
        return { ...found.answer, headers: { 'Idempotent-Replayed': 'true' } };
      }
      if (Date.now() > giveUpAt) return problemAnswer(UNDER_WAY);
      await delay(pause);
    }
    return problemAnswer(UNDER_WAY);
  };

  async function runAndStore(request: Attempt, work: Parameters<AnswerOnce>[2]): Promise<Answer> {
    const lease = holdLease(store, request, logger);
    let isStored = false;
    let done: Done | undefined;
    try {
      done = await work({
        signal: lease.signal,
        async storeIn(transaction, answer) {
          isStored = await store.finish(request, storable(answer), transaction);
          return isStored;
        },
      });
      return done.answer;
    } finally {
      await lease.release();
      // When nobody knows whether the transaction was committed, `abandon` finds out: it leaves what has an answer.
      if (!done?.keep || !isStored) await end(request, done);
    }
  }

  // The answer is true whether or not it could be kept. If not, the lease ends, and a repeat does the work again.
  async function end(request: Attempt, done: Done | undefined): Promise<void> {
    try {
      if (!done?.keep) await store.abandon(request);
      else await store.finish(request, storable(done.answer));
    } catch (error) {
      logger.error({ err: error }, 'The answer to a request with an Idempotency-Key could not be kept');
    }
  }
}

// Of the user and the client: two apps of one person do not know each other's keys.
function idOf(ctx: ActionContext, key: string): string {
  const { client, type, user } = ctx.state.principal;
  return digest([type, client.id, user?.id, key]);
}

function storable({ status, body }: Answer): { status: number; body: string } {
  if (Buffer.byteLength(body) <= LONGEST_ANSWER) return { status, body };
  const { status: conflict, body: explanation } = problemAnswer(TOO_LONG);
  return { status: conflict, body: explanation };
}

const REUSED = {
  status: 409,
  code: 'idempotency_key_reused',
  detail: 'This Idempotency-Key was sent with another request before. Make a new key for each request.',
};

const UNDER_WAY = {
  status: 409,
  code: 'request_in_progress',
  detail: 'The request with this Idempotency-Key is still being worked on. Send it again later.',
  headers: { 'Retry-After': '5' },
};

const TOO_LONG = {
  status: 409,
  code: 'answer_not_kept',
  detail: 'The request with this Idempotency-Key was carried out. Its answer was too long to be kept.',
};

// Visible ASCII without quotes and commas, which belong to the syntax around it.
const PLAIN = /^[!#-+\--~]{1,255}$/;

// A string of RFC 9651 section 3.3.3, as the draft has it.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\]){1,255})"$/;

/**
 * Reads the key of a request that may be sent again (draft-ietf-httpapi-idempotency-key-header): a quoted string, or, as
 * most clients send it, the characters alone.
 *
 * @throws GatehouseError `ERR_IDEMPOTENCY_KEY`, 400, for anything else
 */
function readIdempotencyKey(ctx: ActionContext): string | undefined {
  const field = ctx.get('Idempotency-Key');
  if (ctx.headers['idempotency-key'] === undefined) return undefined;
  if (PLAIN.test(field)) return field;
  const [, quoted] = QUOTED.exec(field) ?? [];
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\])/g, '$1');
  throw new GatehouseError(
    'ERR_IDEMPOTENCY_KEY',
    'Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID.',
    { status: 400 },
  );
}

/** For how long an attempt is trusted to be alive, in seconds. If it dies, a repeat waits that long at most. */
export const LEASE = 30;

/** A lease that is renewed until it is released. */
export interface Lease {
  /** Aborted when another attempt has taken over, because this one was not heard of for too long. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Keeps telling the store that an attempt is alive. */
export function holdLease(
  store: Pick<IdempotencyStore, 'extend'>,
  attempt: Pick<StoredRequest, 'id' | 'attempt'>,
  logger: Logger,
): Lease {
  const lost = new AbortController();
  let renewal: Promise<void> | undefined;

  async function renew(): Promise<void> {
    try {
      if (!(await store.extend(attempt, now() + LEASE))) lost.abort();
    } catch (error) {
      // The next try may be in time.
      logger.warn({ err: error }, 'The lease of a request with an Idempotency-Key could not be renewed');
    }
  }

  const timer = setInterval(
    () => {
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
    },
    (LEASE / 3) * 1000,
  );

  return {
    signal: lost.signal,
    async release() {
      clearInterval(timer);
      await renewal;
    },
  };
}
