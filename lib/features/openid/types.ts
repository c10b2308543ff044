import type { Context } from 'koa';

import type { Client, End } from '../../contracts/index.ts';
import type { Delivery, DeliveryStore, Outcome } from '../../outbox/deliveries.ts';

/**
 * A client that has to be told that a user was signed out (OpenID Connect Back-Channel Logout 1.0). Its id is that of a grant, by which the
 * user was signed in at the client, and its owner who answers for the client: for one that registered itself, the user; nobody for those
 * that the platform has registered or verified.
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
   * Adds a delivery for each client and session of ends that were taken, of the clients that have a `backchannelLogoutUri`; and removes the
   * ends from the outbox. What a client has ended itself, or a replay, is told to nobody.
   */
  add(ends: readonly End[]): Promise<void>;
  /** Finds the latest delivery to a client, whatever its user. */
  findLatest(clientId: string): Promise<LogoutDelivery | undefined>;
  /** Lists the latest delivery to each client that was told of a user, the newest first. */
  listLatest(userId: string): Promise<readonly LogoutDelivery[]>;
}

/** The request of an app to sign the user of this browser out (OpenID Connect RP-Initiated Logout 1.0). */
export interface LogoutRequest {
  /** `undefined`: the request does not say which app it is of. */
  readonly client: Client | undefined;
  /** Whether it is about the login session of this browser and its user. Otherwise ask the user first (section 2). */
  readonly isOfSession: boolean;
  /** The URL to send the browser to afterwards. `undefined`: say on a page that the user is signed out. */
  readonly next: string | undefined;
  /**
   * Whether the browser may be redirected to `next` after the logout, when the page that asks for it has named where that leads. Otherwise
   * show a page with a link that names the host of `next`. Where nobody vouches for the app, it may only if the user has agreed to be sent
   * to that host; else only if a user is signed in, or the app has shown an ID token of its own (section 3).
   */
  readonly mayReturn: boolean;
}

/** Logouts that apps ask for, for a page of your own at `/oauth/logout`. */
export interface OpenIdFlow {
  /**
   * Reads the query of the page. Resolves to `undefined` when no app asks for the logout.
   *
   * @throws LogoutRequestError when the request is wrong: its URL is not registered, or its ID token is none of this server
   */
  logoutRequest(this: void, ctx: Context): Promise<LogoutRequest | undefined>;
}

/** How an attempt to tell a client that a user was signed out has ended (OpenID Connect Back-Channel Logout 1.0). */
export interface LogoutOutcome extends Outcome {
  readonly clientId: string;
}
