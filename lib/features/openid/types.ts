import type { End } from '../../contracts/index.ts';
import type { Delivery, DeliveryStore, Outcome } from '../../outbox/deliveries.ts';

/**
 * A client that has to be told that a user was signed out (OpenID Connect Back-Channel Logout 1.0). Its id is that of a grant by which
 * the user was signed in at the client. Its `ownerId` names who answers for the client: the user, when nobody has registered the client;
 * nobody, when the client is first-party or verified; otherwise the client's owner.
 */
export interface LogoutDelivery extends Delivery {
  readonly clientId: string;
  readonly userId: string;
  /** The {@link Grant.sessionUid} of the grant. */
  readonly sessionUid: string;
}

/** How an app was told of the last logout, as pages show it. */
export type LastLogout = Pick<LogoutDelivery, 'answeredAt' | 'createdAt' | 'dueAt' | 'error'>;

/** Stores which clients have to be told of a logout. */
export interface LogoutStore extends DeliveryStore<LogoutDelivery> {
  /**
   * Adds a delivery for each client and session of the ends, for clients that have a `backchannelLogoutUri`, and removes the ends from
   * the outbox. Nobody is told of what a client itself, or a replay, has ended.
   */
  add(ends: readonly End[]): Promise<void>;
  /** Finds the latest delivery to a client, whatever its user. */
  findLatest(clientId: string): Promise<LogoutDelivery | undefined>;
  /** Lists the latest delivery to each client that was told of a user, the newest first. */
  listLatest(userId: string): Promise<readonly LogoutDelivery[]>;
}

/** How an attempt to tell a client that a user was signed out has ended (OpenID Connect Back-Channel Logout 1.0). */
export interface LogoutOutcome extends Outcome {
  readonly clientId: string;
}
