import type { Seconds } from './duration.ts';
import { now } from './clock.ts';

/** A client that has to be told that a user was signed out (OpenID Connect Back-Channel Logout 1.0). */
export interface LogoutDelivery {
  /** The id of a grant, by which the user was signed in at the client. */
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
  /** The {@link Grant.sessionUid} of the grant. */
  readonly sessionUid: string;
  /** When the session or the grant was ended. */
  readonly createdAt: Seconds;
  /**
   * Who answers for the client: its owner; for one that registered itself, the user. `undefined`: the platform, which has registered or
   * verified it.
   */
  readonly ownerId: string | undefined;
  /** When the client is told, or told again; `undefined`: it was told, or is not told any more. */
  readonly dueAt: Seconds | undefined;
  /** How many attempts have ended. One whose result was not stored, as of a node that died, does not count. */
  readonly attempts: number;
  /** A random id of the attempt under way: another node may take over what a node that died has begun. */
  readonly attempt: string | undefined;
  /** When the last attempt ended; `undefined` before. */
  readonly answeredAt: Seconds | undefined;
  /** Why the last attempt failed, such as `timeout`; `undefined`: it did not. */
  readonly error: string | undefined;
  /** The row can be pruned then. */
  readonly expiresAt: Seconds;
}

/** How an app was told of the last logout, as pages show it. */
export type LastLogout = Pick<LogoutDelivery, 'answeredAt' | 'createdAt' | 'dueAt' | 'error'>;

/** A delivery that a node has taken. */
export interface TakenLogout extends LogoutDelivery {
  /** The `backchannelLogoutUri` of the client at this moment; `undefined`: the client was deleted, or is not told any more. */
  readonly uri: string | undefined;
}

/** A delivery that is due, with what decides whether it may begin now. */
export interface DueLogout extends Pick<LogoutDelivery, 'id' | 'clientId' | 'ownerId'> {
  readonly uri: TakenLogout['uri'];
}

/** What is not listed, because it may not begin now. */
export interface LogoutsLeftOut {
  readonly clientIds: readonly string[];
  readonly ownerIds: readonly string[];
  /** All for which the platform does not answer. */
  readonly owned: boolean;
}

/** What an end of a session or of grants stores for the clients that are told of it, in the same write. */
export type LogoutNotice = Pick<LogoutDelivery, 'createdAt' | 'expiresAt'>;

// A day in which the client is told again, and a day in which the result is shown.
const KEPT: Seconds = 172_800;

export function newLogoutNotice(): LogoutNotice {
  const createdAt = now();
  return { createdAt, expiresAt: createdAt + KEPT };
}

/** Tells clients of logouts, for what ends sessions and grants. */
export interface LogoutNotices {
  /** Makes what is passed to the write that ends them. */
  create(this: void): LogoutNotice;
  /** Sends what such a write has stored. Call it after the write; nothing waits for it. */
  stored(this: void): void;
}

/**
 * Stores which clients have to be told of a logout: the `logouts` of a {@link Storage}. Rows are added by the methods that end sessions
 * and grants, when they are given a {@link LogoutNotice}: one for each client and session, of the clients that have a
 * `backchannelLogoutUri`.
 */
export interface LogoutStore {
  /**
   * Lists what is due: of each client and owner the delivery that was due first, of those that have not been tried if there is one. Those
   * for which the platform answers are before the others; then, those that have not been tried; then, those that were due first.
   *
   * @param page.except - what is left out
   */
  listDue(page: {
    readonly now: Seconds;
    readonly limit: number;
    readonly except: LogoutsLeftOut;
  }): Promise<readonly DueLogout[]>;
  /**
   * Takes those of the deliveries that are still due, and makes each of them due again at `leasedUntil`. Of concurrent callers, on any
   * number of nodes, exactly one gets a delivery.
   */
  take(
    attempt: string,
    ids: readonly string[],
    times: { readonly now: Seconds; readonly leasedUntil: Seconds },
  ): Promise<readonly TakenLogout[]>;
  /**
   * Stores how attempts have ended, each once. Changes nothing of a delivery of which another attempt has begun since.
   *
   * @param result.dueAt - when the client is told again. `undefined`: not any more
   */
  finish(
    attempts: readonly Pick<LogoutDelivery, 'id' | 'attempt'>[],
    result: Pick<LogoutDelivery, 'answeredAt' | 'dueAt' | 'error'>,
  ): Promise<void>;
  /** Finds the latest delivery to a client, whatever its user. */
  findLatest(clientId: string): Promise<LogoutDelivery | undefined>;
  /** Lists the latest delivery to each client that was told of a user, the newest first. */
  listLatest(userId: string): Promise<readonly LogoutDelivery[]>;
}
