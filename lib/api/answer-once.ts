import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { toMilliseconds } from '../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import { now } from '../contracts/clock.ts';
import type { IdempotencyStore, Logger, Principal, StoredAnswer, StoredRequest } from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { begin, digest } from '../http/idempotency.ts';
import type { RequestAttempt } from '../http/idempotency.ts';
import { callerSignal, problemAnswer } from './actions/answer.ts';
import type { ActionContext, Answer } from './actions/answer.ts';
import type { Problem } from '../http/problem.ts';

/** The context of the work on a request. */
export interface WorkContext {
  /** Aborted when the result of the work is not needed any more. */
  readonly signal: AbortSignal;
  /**
   * Stores the answer in a transaction of the storage, so that the answer and the effects of the transaction are committed together.
   * Resolves to `false` when another attempt has taken over: roll back then.
   */
  readonly storeIn: (transaction: unknown, answer: Answer) => Promise<boolean>;
}

/** The result of the work. */
export interface WorkResult {
  readonly answer: Answer;
  /**
   * Whether a repeated request gets this answer. If not, a repeat does the work again, because the work had no effect or an unknown
   * effect.
   */
  readonly replay: boolean;
}

/** A request that may be repeated. */
export interface RepeatableRequest {
  readonly principal: Principal;
  /** The `Idempotency-Key`; `undefined` when the request is not repeated. */
  readonly key: string | undefined;
  /** What is requested. The same key with other content is refused with 409. */
  readonly content: unknown;
  /** Aborted when the client has closed the connection. */
  readonly signal: AbortSignal;
}

/** The request of a context that may be repeated, with its `Idempotency-Key` and its JSON body. */
export function repeatableRequest(ctx: ActionContext, body: unknown): RepeatableRequest {
  return {
    principal: ctx.state.principal,
    key: readIdempotencyKey(ctx),
    content: [ctx.method, ctx.path, body],
    signal: callerSignal(ctx),
  };
}

/**
 * Answers a request that may be repeated. Without an `Idempotency-Key`, the work is done for each request, and `signal` is
 * aborted when the client closes the connection. With a key, the work is done once for each user, client and key, and
 * continues when the connection closes, because a repeat gets its answer. If the process ends before the answer is stored, a
 * repeat does the work again after the lease has expired: the work is then done at least once. Work that stores its answer in
 * its own transaction is done exactly once in every case.
 */
export type AnswerOnce = (
  request: RepeatableRequest,
  work: (context: WorkContext) => Promise<WorkResult>,
) => Promise<Answer>;

/** How long an answer is stored. */
const RETENTION: Seconds = 24 * 3600;

/** How long a repeated request waits for the first one. */
const REPEAT_TIMEOUT: Milliseconds = 10_000;

/** In bytes. A longer answer is sent, but not stored. */
const MAX_ANSWER = 1024 * 1024;

export function createAnswerOnce(store: IdempotencyStore, logger: Logger): AnswerOnce {
  return async function answerOnce({ content, key, principal, signal }, work) {
    if (key === undefined) return (await work({ signal, storeIn: async () => true })).answer;

    const request = {
      id: storedRequestId(principal, key),
      fingerprint: digest(content),
      attempt: randomUUID(),
    };
    const waitUntil = Date.now() + REPEAT_TIMEOUT;
    for (let pause = 25; !signal.aborted; pause = Math.min(2 * pause, 500)) {
      const found = await begin(store, request, { lease: LEASE, retention: RETENTION });
      if (found === undefined) return runAndStore(request, work);
      if (found.fingerprint !== request.fingerprint) return problemAnswer(KEY_REUSED);
      if (found.answer) return { ...found.answer, headers: { 'Idempotent-Replayed': 'true' } };
      if (Date.now() > waitUntil) return problemAnswer(IN_PROGRESS);
      await delay(pause);
    }
    return problemAnswer(IN_PROGRESS);
  };

  async function runAndStore(request: RequestAttempt, work: Parameters<AnswerOnce>[1]): Promise<Answer> {
    const lease = startLease(store, request, logger);
    let isStored = false;
    let done: WorkResult | undefined;
    try {
      done = await work({
        signal: lease.signal,
        async storeIn(transaction, answer) {
          isStored = await store.finish(request, storableAnswer(answer), transaction);
          return isStored;
        },
      });
      return done.answer;
    } finally {
      await lease.release();
      // When it is unknown whether the transaction was committed, `abandon` decides: it changes only a request without an
      // answer.
      if (!done?.replay || !isStored) await finish(request, done);
    }
  }

  // The answer is sent even if it cannot be stored. The lease then expires, and a repeat does the work again.
  async function finish(request: RequestAttempt, done: WorkResult | undefined): Promise<void> {
    try {
      if (!done?.replay) await store.abandon(request);
      else await store.finish(request, storableAnswer(done.answer));
    } catch (error) {
      logger.error({ err: error }, 'storing the response of an idempotent request failed');
    }
  }
}

// Keys are separate for each user and client, each personal access token, and for a user's sessions: two apps of one user may send the
// same key.
function storedRequestId({ client, token, user }: Principal, key: string): string {
  return digest([token ? [token.id] : client?.id, user?.id, key]);
}

function storableAnswer(answer: Answer): StoredAnswer {
  const { status, body } = Buffer.byteLength(answer.body) <= MAX_ANSWER ? answer : problemAnswer(TOO_LONG);
  return { status, body };
}

const KEY_REUSED: Problem = {
  status: 409,
  code: 'idempotency_key_reused',
  detail: 'This Idempotency-Key was sent with another request before. Make a new key for each request.',
};

const IN_PROGRESS: Problem = {
  status: 409,
  code: 'request_in_progress',
  detail: 'The request with this Idempotency-Key is still running. Send it again later.',
  headers: { 'Retry-After': '5' },
};

const TOO_LONG = {
  status: 409,
  code: 'answer_not_kept',
  detail: 'The request with this Idempotency-Key has been completed. Its response was too long to be stored.',
};

// Visible ASCII without quotes and commas, which are syntax of structured fields.
const PLAIN = /^[!#-+\--~]{1,255}$/;

// A string of RFC 9651 section 3.3.3, which the draft requires.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\]){1,255})"$/;

/**
 * Reads the `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a quoted string or, as most clients send it, the
 * unquoted characters.
 *
 * @throws GatehouseError `ERR_IDEMPOTENCY_KEY`, 400, for anything else
 */
function readIdempotencyKey(ctx: ActionContext): string | undefined {
  const field = ctx.get('Idempotency-Key');
  if (ctx.headers['idempotency-key'] === undefined) return undefined;
  if (isIdempotencyKey(field)) return field;
  const [, quoted] = QUOTED.exec(field) ?? [];
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\])/g, '$1');
  throw new GatehouseError('ERR_IDEMPOTENCY_KEY', `Send one Idempotency-Key of ${KEY_FORM}.`, {
    status: 400,
  });
}

/** The form of a key, in words. */
export const KEY_FORM = '1 to 255 visible ASCII characters, such as a UUID';

/** Whether a value can be a key, without quotes around it. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && PLAIN.test(value);
}

/** How long an attempt counts as running without a renewal. After a crash, a repeat waits at most this long. */
export const LEASE: Seconds = 30;

/** A lease that is renewed until it is released. */
export interface Lease {
  /** Aborted when another attempt has taken over, because this one did not renew its lease in time. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Renews the lease of an attempt three times within its duration, until it is released. */
export function startLease(
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
      logger.warn({ err: error }, 'renewing the lease of an idempotent request failed');
    }
  }

  const timer = setInterval(
    () => {
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
    },
    toMilliseconds(LEASE) / 3,
  );

  return {
    signal: lost.signal,
    async release() {
      clearInterval(timer);
      await renewal;
    },
  };
}
