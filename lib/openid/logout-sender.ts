import { randomUUID } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { toMilliseconds } from '../contracts/duration.ts';
import { now, secondsSince } from '../contracts/clock.ts';
import { ERASED_USER } from '../contracts/user-data.ts';
import type {
  AuditLog,
  Logger,
  LogoutDelivery,
  LogoutOutcome,
  LogoutStore,
  Milliseconds,
  Seconds,
  TakenLogout,
  UserStore,
} from '../contracts/index.ts';
import type { PublicPost } from '../http/public-post.ts';
import { PublicFetchError } from '../http/public-request.ts';
import { logFailure } from '../http/unavailable.ts';
import { sidOf } from '../login/session-model.ts';

/** How long a client may take to answer. */
export const ANSWER_TIMEOUT: Milliseconds = 5000;

// Longer than an attempt takes: then the node that began it has died.
const LEASE: Seconds = 15;

// How many clients a node tells at once. A client that does not answer has one of the places for `ANSWER_TIMEOUT`.
const PLACES = 128;

// Of these, a client has so many, so that one with many users does not take those of the others.
const PLACES_OF_CLIENT = 2;

// All clients together that did not answer the last time have so many: a user can register many.
const PLACES_OF_SILENT = 32;

// How many clients a node remembers that did not answer.
const MOST_SILENT = 1000;

// More is taken when so many are free, because each time takes three statements.
const FEWEST = 32;

// In seconds: the pause after the first attempt, three times as long after each further one, and at most the longest.
const PAUSE = { first: 10, longest: 10_800 };

// How long a client is told again.
const TOLD_FOR: Seconds = 86_400;

/** Signs the claims of a JWT with the key of ID tokens. */
export type SignJwt = (claims: Readonly<Record<string, unknown>>, type: string) => Promise<string>;

/** What the sender needs. */
export interface LogoutSenderParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly issuer: string;
  readonly logger: Logger;
  readonly logouts: Pick<LogoutStore, 'finish' | 'take'>;
  /** Called with each attempt, for metrics. */
  readonly onAttempt: (outcome: LogoutOutcome) => void;
  readonly post: PublicPost;
  readonly sign: SignJwt;
  readonly users: Pick<UserStore, 'find'>;
}

/** Tells clients of logouts (OpenID Connect Back-Channel Logout 1.0 section 2.5). */
export interface LogoutSender {
  /** Sends what is due at this time, with the other nodes. Returns at once. */
  wake(this: void): void;
  /** Takes nothing more. Resolves when the running attempts have ended. */
  stop(this: void): Promise<void>;
}

/** How an attempt has ended. */
type Result = Pick<LogoutDelivery, 'dueAt' | 'error'>;

export function createLogoutSender(parts: LogoutSenderParts): LogoutSender {
  const { audit, logger, logouts, onAttempt, post, users } = parts;
  const attempts = new Set<Promise<void>>();
  /** The number of running attempts, by client. */
  const running = new Map<string, number>();
  const silent = new LRUCache<string, true>({ max: MOST_SILENT });
  /** Clients of which more may be due than was taken. */
  const held = new Set<string>();
  let isStopped = false;
  let isWoken = false;
  let isSilentHeld = false;
  let isTaking = false;
  let unstored: { readonly delivery: LogoutDelivery; readonly result: Result }[] = [];
  let storing: Promise<void> | undefined;

  function wake(): void {
    isWoken = true;
    if (!isTaking) void takeDue();
  }

  /** Takes what is due, as far as there are places. Never rejects. */
  async function takeDue(): Promise<void> {
    isTaking = true;
    try {
      // After the writes of this turn.
      await Promise.resolve();
      while (isWoken && mayTake()) await takeSome();
    } catch (error) {
      // The job wakes again.
      logFailure(logger, { err: error }, 'logouts not sent', 'warn');
    } finally {
      isTaking = false;
    }
  }

  function mayTake(): boolean {
    return !isStopped && PLACES - attempts.size >= FEWEST;
  }

  async function takeSome(): Promise<void> {
    isWoken = false;
    const ofSilent = [...silent.keys()];
    const except = [...new Set([...running.keys(), ...ofSilent])];
    if (await take({ limit: PLACES - attempts.size, except })) isWoken = true;
    if (ofSilent.length === 0) return;
    const taken = ofSilent.reduce((sum, clientId) => sum + (running.get(clientId) ?? 0), 0);
    const limit = Math.min(PLACES - attempts.size, PLACES_OF_SILENT - taken);
    isSilentHeld = limit <= 0 || (await take({ limit, except: [...running.keys()] }));
  }

  /** Takes and starts what is due of other clients. Resolves to whether there may be more of them. */
  async function take({
    except,
    limit,
  }: {
    readonly except: readonly string[];
    readonly limit: number;
  }): Promise<boolean> {
    const at = now();
    const busy = [...running.keys()];
    const taken = await logouts.take(randomUUID(), {
      now: at,
      leasedUntil: at + LEASE,
      limit,
      perClient: PLACES_OF_CLIENT,
      except,
    });
    for (const clientId of busy) if (running.has(clientId)) held.add(clientId);
    for (const delivery of taken) start(delivery);
    const isAtMost = taken.some(({ clientId }) => running.get(clientId)! >= PLACES_OF_CLIENT);
    return isAtMost || taken.length >= limit;
  }

  function start(delivery: TakenLogout): void {
    const { clientId } = delivery;
    running.set(clientId, (running.get(clientId) ?? 0) + 1);
    const attempt = tell(delivery).finally(() => {
      attempts.delete(attempt);
      const left = running.get(clientId)! - 1;
      if (left > 0) running.set(clientId, left);
      else running.delete(clientId);
      // `isWoken`: there was no place.
      const hadNoPlace = isWoken || (isSilentHeld && silent.has(clientId));
      if (hadNoPlace || (left === 0 && held.delete(clientId))) wake();
    });
    attempts.add(attempt);
  }

  /** Never rejects. */
  async function tell(delivery: TakenLogout): Promise<void> {
    // The client was deleted, or is not told any more.
    if (delivery.uri === undefined) return finish(delivery, { dueAt: undefined, error: 'no_uri' });
    const startedAt = performance.now();
    let error: string | undefined;
    try {
      await post(delivery.uri, { logout_token: await createLogoutToken(delivery, parts) });
    } catch (cause) {
      error = reasonOf(cause);
      if (!(cause instanceof PublicFetchError))
        logFailure(logger, { err: cause, client_id: delivery.clientId }, 'logout not sent', 'warn');
    }
    if (error === 'timeout') silent.set(delivery.clientId, true);
    else silent.delete(delivery.clientId);
    const dueAt = error === undefined ? undefined : nextAttempt(delivery);
    finish(delivery, { dueAt, error });
    await report(delivery, {
      error,
      isLast: dueAt === undefined,
      seconds: secondsSince(startedAt),
    });
  }

  async function report(
    { attempts: attempt, clientId, userId }: LogoutDelivery,
    { error, isLast, seconds }: Pick<LogoutOutcome, 'error' | 'isLast' | 'seconds'>,
  ): Promise<void> {
    onAttempt({ clientId, attempt, error, isLast, seconds });
    const fields = { client_id: clientId, attempt, duration_ms: toMilliseconds(seconds) };
    if (error === undefined) return logger.debug(fields, 'logout delivered');
    if (!isLast) return logger.debug({ ...fields, error }, 'logout not delivered yet');
    logger.warn({ ...fields, error }, 'logout not delivered');
    const isKnown = await isUser(userId);
    audit.record({ type: 'logout_undelivered', clientId, userId: isKnown ? userId : ERASED_USER, error });
  }

  /** The data of a user who is gone may have been erased since the logout. */
  async function isUser(id: string): Promise<boolean> {
    try {
      return (await users.find(id)) !== undefined;
    } catch {
      return false;
    }
  }

  function finish(delivery: LogoutDelivery, result: Result): void {
    unstored.push({ delivery, result });
    storing ??= storeResults().finally(() => (storing = undefined));
  }

  /** Stores the results that have come in together by few writes. */
  async function storeResults(): Promise<void> {
    await Promise.resolve();
    while (unstored.length > 0) {
      const results = unstored;
      unstored = [];
      const answeredAt = now();
      for (const [, alike] of Map.groupBy(results, ({ result }) => `${result.dueAt} ${result.error}`)) {
        const [{ result }] = alike as [(typeof alike)[number]];
        await logouts
          .finish(
            alike.map(({ delivery }) => delivery),
            { ...result, answeredAt },
          )
          // The lease ends, and the clients are told again.
          .catch((error: unknown) =>
            logFailure(logger, { err: error }, 'results of logouts not stored', 'warn'),
          );
      }
    }
  }

  return {
    wake,
    async stop() {
      isStopped = true;
      while (attempts.size > 0) await Promise.all(attempts);
      await storing;
    },
  };
}

// In seconds; the specification recommends two minutes at most.
const TOKEN_LIFETIME = 120;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Makes the logout token of one attempt, with a `jti` of its own (OpenID Connect Back-Channel Logout 1.0 section 2.4). */
async function createLogoutToken(
  { clientId, sessionUid, userId }: Pick<LogoutDelivery, 'clientId' | 'sessionUid' | 'userId'>,
  { issuer, sign }: { readonly issuer: string; readonly sign: SignJwt },
): Promise<string> {
  const iat = now();
  const claims = {
    iss: issuer,
    sub: userId,
    aud: clientId,
    iat,
    exp: iat + TOKEN_LIFETIME,
    jti: randomUUID(),
    events: { [EVENT]: {} },
    sid: sidOf(sessionUid, clientId),
  };
  return sign(claims, 'logout+jwt');
}

/** When the client is told again. `undefined`: not any more. */
function nextAttempt({ attempts, createdAt }: LogoutDelivery): Seconds | undefined {
  const dueAt = now() + Math.min(PAUSE.first * 3 ** (attempts - 1), PAUSE.longest);
  return dueAt > createdAt + TOLD_FOR ? undefined : dueAt;
}

/** Such as `timeout`, or `status 500`. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof PublicFetchError)) return 'failure';
  return cause.status === undefined ? cause.reason : `status ${cause.status}`;
}
