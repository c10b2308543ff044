import type { Consent } from './consents.ts';
import type { Seconds } from './duration.ts';
import type { GrantOrigin } from './grants.ts';

/** The login session of a user in a browser. */
export interface StoredSession {
  /** SHA-256 of the session id in the browser's cookie, base64url. */
  readonly id: string;
  /** SHA-256 of the session's `uid`, a second identifier that is not a credential. */
  readonly uid: string;
  readonly userId: string;
  /** The data that the engine (`oidc-provider`) stores with it. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly expiresAt: Seconds;
  /** `RevocationStore.latestSequence` before the password was checked. */
  readonly sequence: number;
  /** Where the user logged in. */
  readonly origin: GrantOrigin | undefined;
  /** When an app last sent the browser here, to a hundredth of the lifetime of a session. */
  readonly lastUsedAt: Seconds;
}

/** A login session, with what the same read finds. */
export interface FoundSession {
  readonly session: StoredSession;
  /** `RevocationStore.latestSequence` at the moment of the read. */
  readonly sequence: number;
  /** `undefined` when the user has not consented to the client, or no client was named. */
  readonly consent: Pick<Consent, 'userId' | 'clientId' | 'hosts' | 'createdAt'> | undefined;
  /** How many grants of the user for the client were not revoked; 0 when no client was named. */
  readonly grants: number;
}

/**
 * Stores the login sessions of browsers: the `sessions` of a `Storage`. Only a login inserts a session, so that no
 * concurrent request can restore a session that was deleted.
 */
export interface SessionStore {
  /** Inserts a session with a new id. Nothing is stored when its user was ended after its `sequence`. */
  insert(session: StoredSession): Promise<void>;
  /**
   * Finds the session of a browser, unless its user, or all, have been ended since it started. The same read finds
   * `RevocationStore.latestSequence`, for grants that are started with the session.
   *
   * @param clientId - the client whose consent is found too, and whose grants are counted. It may be any text, because a request names it
   */
  find(id: string, clientId?: string): Promise<FoundSession | undefined>;
  /** Changes an existing session. Resolves to `false` when it does not exist any more. */
  update(session: Pick<StoredSession, 'id' | 'payload' | 'expiresAt' | 'lastUsedAt'>): Promise<boolean>;
  /** Deletes a session, if it exists, without storing an end: another session of the same browser and user takes its place. */
  delete(id: string): Promise<void>;
  /**
   * Ends a session, and deletes it. The grants by which the user is signed in at clients stay, but lose their `sessionUid`. Resolves to
   * `false` when it does not exist any more.
   *
   * @param userId - whose session it has to be. @default of any user
   */
  end(id: string, userId?: string): Promise<boolean>;
  /** Ends the sessions of a user but one, in batches: those that have not expired at `now` and were not ended. Resolves to their number. */
  endOthers(userId: string, kept: string, now: Seconds): Promise<number>;
  /** Deletes all sessions of a user. Resolves to their number. */
  deleteOfUser(userId: string): Promise<number>;
}
