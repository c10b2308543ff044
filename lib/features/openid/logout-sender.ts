import { randomUUID } from 'node:crypto';

import { toMilliseconds } from '../../contracts/duration.ts';
import { now, secondsSince } from '../../contracts/clock.ts';
import { ERASED_USER } from '../../contracts/user-data.ts';
import type { AuditLog, Logger, Milliseconds, Seconds, UserStore } from '../../contracts/index.ts';
import type { PublicPost } from '../../http/public-post.ts';
import { PublicFetchError } from '../../http/public-request.ts';
import { logFailure } from '../../http/unavailable.ts';
import type { EndReader } from '../../outbox/end-reader.ts';
import { createLogoutPlaces } from './logout-places.ts';
import type { PlacedLogout } from './logout-places.ts';
import { sidOf } from './sid.ts';
import type { LogoutDelivery, LogoutOutcome, LogoutStore, TakenLogout } from './types.ts';

/** How long a client may take to answer. */
export const ANSWER_TIMEOUT: Milliseconds = 5000;

// Longer than an attempt takes: then the node that began it has died.
const LEASE: Seconds = 15;

// So many are looked at for one choice.
const MOST_LISTED = 256;

// Between two choices, because many attempts end at about the same time. After one that took longer, as long as it took.
const BETWEEN: Milliseconds = 20;

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
  /** The reader of the ends that clients have to be told of. */
  readonly ends: EndReader;
  readonly logouts: Pick<LogoutStore, 'finish' | 'listDue' | 'take'>;
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

type Answer = NonNullable<Parameters<PlacedLogout['leave']>[0]>;

/** How an attempt has ended. */
type Result = Pick<LogoutDelivery, 'dueAt' | 'error'>;

export function createLogoutSender(parts: LogoutSenderParts): LogoutSender {
  const { audit, ends, logger, logouts, post, users } = parts;
  const places = createLogoutPlaces();
  const attempts = new Set<Promise<void>>();
  let areEndsRead = false;
  let isStopped = false;
  let isWoken = false;
  let taking: Promise<void> | undefined;
  /** There may be more, for which there was no place. */
  let isMoreDue = false;
  let nextChoice: NodeJS.Timeout | undefined;
  let lastTook: Milliseconds = 0;
  let unstored: { readonly delivery: LogoutDelivery; readonly result: Result }[] = [];
  let storing: Promise<void> | undefined;

  function wake(): void {
    areEndsRead = false;
    choose();
  }

  function choose(): void {
    isWoken = true;
    taking ??= takeDue().finally(() => (taking = undefined));
  }

  /** Takes what is due, as far as there are places. Never rejects. */
  async function takeDue(): Promise<void> {
    try {
      // After the writes of this turn.
      await Promise.resolve();
      while (mayTake()) {
        isWoken = false;
        const startedAt = performance.now();
        // What is due is sent all the same.
        if (!areEndsRead) await readEnds();
        isWoken = (await takeSome()) || isWoken;
        lastTook = performance.now() - startedAt;
      }
    } catch (error) {
      // The job wakes again.
      logFailure(logger, { err: error }, 'logouts not sent', 'warn');
    }
  }

  /** Makes deliveries of what has ended. Never rejects. */
  async function readEnds(): Promise<void> {
    areEndsRead = true;
    await ends.read().catch((error: unknown) => logFailure(logger, { err: error }, 'ends not read', 'warn'));
  }

  function mayTake(): boolean {
    return isWoken && !isStopped;
  }

  /** Takes and starts one delivery of each client and owner that has a place. Resolves to whether to look further. */
  async function takeSome(): Promise<boolean> {
    isMoreDue = true;
    if (places.isFull()) return false;
    const at = now();
    const leftOut = places.leftOut();
    const due = await logouts.listDue({ now: at, limit: MOST_LISTED, except: leftOut });
    const chosen = new Map(
      due.flatMap((one) => {
        const place = places.take(one);
        return place ? [[one.id, place] as const] : [];
      }),
    );
    const isNew = chosen.size > 0 || places.leftOut().clientIds.length > leftOut.clientIds.length;
    isMoreDue = due.length > 0 || leftOut.owned || leftOut.clientIds.length + leftOut.ownerIds.length > 0;
    try {
      const taken = await logouts.take(randomUUID(), [...chosen.keys()], {
        now: at,
        leasedUntil: at + LEASE,
      });
      for (const delivery of taken) {
        start(delivery, chosen.get(delivery.id)!);
        chosen.delete(delivery.id);
      }
      return isNew;
    } finally {
      // Of what another node has taken.
      for (const { leave } of chosen.values()) leave();
    }
  }

  function start(delivery: TakenLogout, place: PlacedLogout): void {
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

  /** Resolves to how the client has answered; `undefined`: it was not asked. Never rejects. */
  async function tell(delivery: TakenLogout): Promise<Answer | undefined> {
    if (delivery.uri === undefined) {
      // The client was deleted, or is not told any more.
      finish(delivery, { dueAt: undefined, error: 'no_uri' });
      return undefined;
    }
    const startedAt = performance.now();
    let error: string | undefined;
    try {
      await post(delivery.uri, { logout_token: await createLogoutToken(delivery, parts) });
    } catch (cause) {
      error = reasonOf(cause);
      if (!(cause instanceof PublicFetchError))
        logFailure(logger, { err: cause, client_id: delivery.clientId }, 'logout not sent', 'warn');
    }
    const seconds = secondsSince(startedAt);
    const attempt = delivery.attempts + 1;
    const dueAt = error === undefined ? undefined : nextAttempt(delivery.createdAt, attempt);
    finish(delivery, { dueAt, error });
    await report(delivery, { attempt, error, isLast: dueAt === undefined, seconds });
    return { isConfirmed: error === undefined, seconds };
  }

  async function report(
    { clientId, userId }: LogoutDelivery,
    { attempt, error, isLast, seconds }: Omit<LogoutOutcome, 'clientId'>,
  ): Promise<void> {
    audit.record({ type: 'logout_told', clientId, attempt, error, isLast, seconds });
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
      clearTimeout(nextChoice);
      await taking;
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

/** When the client is told again after so many attempts. `undefined`: not any more. */
function nextAttempt(createdAt: Seconds, attempts: number): Seconds | undefined {
  const dueAt = now() + Math.min(PAUSE.first * 3 ** (attempts - 1), PAUSE.longest);
  return dueAt > createdAt + TOLD_FOR ? undefined : dueAt;
}

/** Such as `timeout`, or `status 500`. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof PublicFetchError)) return 'failure';
  return cause.status === undefined ? cause.reason : `status ${cause.status}`;
}
