import type { EventRules } from '../record/event-rules.ts';
import type { Seconds } from './duration.ts';
import type { AuditRecord } from './audit.ts';
import type { Consent } from './consents.ts';
import type { AuthorizedApp } from './authorized-apps.ts';
import type { Grant, GrantOrigin } from './grants.ts';
import type { Assignment } from './people.ts';

/** The id that replaces a user whose data was erased, where a row stays: as the owner of an app, and in audit records. */
export const ERASED_USER = '(erased)';

/** A page of the rows of one kind that are stored of a user. */
export type StoredUserData =
  | { readonly kind: 'sessions'; readonly rows: readonly UserSession[] }
  | { readonly kind: 'grants'; readonly rows: readonly Grant[] }
  | { readonly kind: 'audit'; readonly rows: readonly AuditRecord[] };

/**
 * Reads and erases what is stored of one user, wherever it is: the `userData` of a {@link Storage}. Both methods read large tables in
 * pages of limited size, with other work in between.
 */
export interface UserDataStore {
  /** Lists the login sessions of a user that have not expired at `now` and were not ended, the last used one first. */
  sessions(
    userId: string,
    options: { readonly now: Seconds; readonly limit: number },
  ): Promise<readonly UserSession[]>;
  /** Reads the rows that no other store lists: sessions and grants, ended ones included, and the events that the user is in. */
  read(userId: string, onPage: (page: StoredUserData) => void): Promise<void>;
  /**
   * Deletes the sessions, grants with their credentials, consents, personal access tokens, assignments and told logouts of a user. In
   * apps and audit records the user becomes `(erased)`; a record loses its addresses, and the name that the user gave a personal access
   * token. The call can be repeated after an error or a crash, and then erases what is left.
   *
   * @param onBatch - called after each batch with the number of rows; the erasure stops when it returns `false`
   *
   * Call it after the user was ended (`RevocationStore.revokeAllOf`), and repeat it until nothing is left: a statement under way may have
   * inserted something meanwhile.
   */
  erase(userId: string, onBatch: (rows: number) => boolean): Promise<void>;
}

/** A login session, for its user. */
export interface UserSession {
  /** A hash of the session id, not a credential. */
  readonly id: string;
  /** When the user logged in. */
  readonly createdAt: Seconds;
  readonly expiresAt: Seconds;
  /** When an app last sent the browser here, to a hundredth of the lifetime of a session. */
  readonly lastUsedAt: Seconds;
  /** The address and the browser of the login. */
  readonly origin: GrantOrigin | undefined;
}

/** The login sessions of a user. */
export interface UserSessions {
  /** Lists those that have not ended, at most 50, the last used one first. */
  list(): Promise<{ readonly sessions: readonly UserSession[]; readonly moreSessions: boolean }>;
  /** Ends a session. Resolves to `false` when the user has none with this id. */
  end(id: string): Promise<boolean>;
  /** Ends all sessions but one. */
  endOthers(kept: string): Promise<void>;
}

/** Whether an audit record names a user, as the user that it is about or as the one who caused it. */
export function isAboutUser(record: AuditRecord, userId: string): boolean {
  return record.actorId === userId || ('userId' in record && record.userId === userId);
}

/**
 * An audit record without a user who is in it: with {@link ERASED_USER} instead of the id, without addresses, and without the name that
 * the user gave a personal access token. What happened, when, and at which app stays.
 */
export function withoutUser(record: AuditRecord, userId: string, rules: EventRules): AuditRecord {
  const { address: _address, ...rest } = record;
  const kept: Record<string, unknown> = { ...rest };
  for (const member of rules[record.type]?.addresses ?? []) delete kept[member];
  for (const member of ['userId', 'actorId']) if (kept[member] === userId) kept[member] = ERASED_USER;
  for (const member of rules[record.type]?.ofUser ?? []) kept[member] = '';
  return kept as unknown as AuditRecord;
}

/** The members that features add to {@link UserGrants}, {@link UserGrantTarget} and {@link UserExport}. */
export interface FeatureUserGrants {}
export interface FeatureGrantTargets {}
export interface FeatureUserExports {}

/** What acts in a user's name, for a settings page. */
export interface UserGrants extends Partial<FeatureUserGrants> {
  /** The apps, each with its grants: one for each machine or browser. */
  readonly clients: readonly AuthorizedApp[];
  /** The logins at this server's own pages, at most 50, the last used one first. */
  readonly sessions: readonly UserSession[];
  /** Whether the user has more of them. */
  readonly moreSessions: boolean;
}

/** Which of a user's grants to revoke, by an id of {@link UserGrants}. */
export type UserGrantTarget =
  /** A `client_id`: the consent, and all grants of the app. */
  | { readonly clientId: string }
  | { readonly grantId: string }
  | FeatureGrantTargets[keyof FeatureGrantTargets]
  | { readonly sessionId: string };

/** The grants of users, for a settings page of the host: `auth.userGrants`. */
export interface UserGrantsRegistry {
  /** Lists what lets apps and scripts act as the user, and the user's login sessions. */
  list(this: void, userId: string): Promise<UserGrants>;
  /**
   * Revokes one of a user's grants, as the user would on the pages. Resolves to `false` when the user has none with this id.
   * @throws ConfigError when the target has none of the known forms
   */
  revoke(this: void, userId: string, target: UserGrantTarget): Promise<boolean>;
}

/** All that is stored of a user, as JSON. Times are in seconds since 1970, those of events with fractions. */
export interface UserExport extends Partial<FeatureUserExports> {
  readonly userId: string;
  readonly assignment: Assignment;
  readonly sessions: readonly UserSession[];
  readonly consents: readonly Consent[];
  /** All grants, ended ones included. */
  readonly grants: readonly Grant[];
  /** The `client_id`s of the apps that the user owns. */
  readonly ownedClients: readonly string[];
  /** The events that the user is in. */
  readonly audit: readonly AuditRecord[];
}

/** Data protection: what is stored of users. */
export interface UserData {
  /** Reads all that is stored of a user. What the host stores itself, such as the user table, is not part of it. */
  export(this: void, userId: string): Promise<UserExport>;
  /**
   * Erases a user: ends all logins, tokens and grants, and deletes what is stored, in small batches. Requests under way on any node then
   * store nothing of the user. In audit records, and as owner of apps, the user becomes `(erased)`. Remove the user from your user table
   * first; repeat a call that has failed, or that `signal` has stopped. Resolves to the number of rows, after two seconds at least.
   *
   * @throws ConfigError for an id that is empty; StorageError when the storage cannot be reached; GatehouseError with the code
   * `ERR_ERASURE_INCOMPLETE` when the user goes on using the server, which is possible while the user is still in the user table
   */
  erase(
    this: void,
    userId: string,
    options?: { readonly onProgress?: (rows: number) => void; readonly signal?: AbortSignal },
  ): Promise<number>;
}
