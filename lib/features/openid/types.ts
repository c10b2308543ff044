import type { Context } from 'koa';

import type { Client, End, Seconds } from '../../contracts/index.ts';

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

/** Stores which clients have to be told of a logout. */
export interface LogoutStore {
  /**
   * Adds a delivery for each client and session of ends that were taken, of the clients that have a `backchannelLogoutUri`; and removes the
   * ends from the outbox. What a client has ended itself, or a replay, is told to nobody.
   */
  add(ends: readonly End[]): Promise<void>;
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
export interface LogoutOutcome {
  readonly clientId: string;
  /** 1 for the first attempt to tell the client of this logout. */
  readonly attempt: number;
  /** Why it failed, such as `timeout` or `status 500`; `undefined`: the client has confirmed it. */
  readonly error: string | undefined;
  /** `false`: the client is told again. */
  readonly isLast: boolean;
  readonly seconds: Seconds;
}
