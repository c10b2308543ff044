import type { Seconds } from './duration.ts';

/**
 * An event of the audit log. No member holds a credential, or text of an unauthenticated caller, except the checked name of an app that
 * nobody has registered.
 */
export type AuditEvent = CoreEvent | FeatureEvents[keyof FeatureEvents];

/** Kinds of events of an app, as its owner sees them. */
export type ActivityKind = 'tokens' | 'refused' | 'people' | 'changes';

/** The events that features record, by the name of the feature: each one adds its own. */
export interface FeatureEvents {}

/** The events of the core. */
export type CoreEvent =
  | {
      readonly type: 'token_issued';
      readonly clientId: string;
      readonly userId?: string | undefined;
      readonly grantId?: string | undefined;
      /** The API that the token is for; absent for the default. */
      readonly resource?: string | undefined;
      /** Such as `refresh_token`; `host` for a token from `auth.issueToken()`. */
      readonly grantType: string;
      /** The other server whose refresh token was exchanged, by the name of the feature that knows it. */
      readonly server?: string | undefined;
    }
  /**
   * A spent refresh token was presented within `refreshGrace`. If it led to the current token, this event is recorded beside
   * `token_issued`. If the current token is too many refreshes away, the family is revoked, and this event is recorded beside
   * `tokens_revoked`.
   */
  | {
      readonly type: 'refresh_token_reused';
      readonly clientId: string;
      readonly userId?: string | undefined;
      readonly grantId?: string | undefined;
      /** The API that the token is for; absent for the default. */
      readonly resource?: string | undefined;
      /** How many refresh tokens of the grant are newer than the presented one; beside `tokens_revoked`, the least number. */
      readonly generations: number;
    }
  | {
      readonly type: 'token_refused' | 'authorization_refused';
      /** Absent when no client has the `client_id` of the request. */
      readonly clientId?: string | undefined;
      readonly userId?: string | undefined;
      readonly grantType?: string | undefined;
      /** The OAuth error code of the response, such as `invalid_grant`. */
      readonly error: string;
      /** The cause, for the client's developer: more detailed than the response. */
      readonly reason: string;
    }
  | {
      readonly type: 'login' | 'logout';
      readonly userId: string;
      /** The client of the authorization request; absent outside an authorization. */
      readonly clientId?: string | undefined;
    }
  | { readonly type: 'login_failed'; readonly clientId?: string | undefined }
  /** A login was refused before the password was checked, because too many logins have failed: see the option `limits.attempts`. */
  | { readonly type: 'login_throttled' }
  /** `consent_withdrawn` means that the user has disconnected the client. It has no scopes for a client that needed no consent. */
  | {
      readonly type: 'consent_given' | 'consent_denied' | 'consent_withdrawn';
      readonly userId: string;
      readonly clientId: string;
      readonly scopes: readonly string[];
      /** The API that the consent is for; absent for the default, and when the consents for all APIs are withdrawn. */
      readonly resource?: string | undefined;
    }
  | {
      /** Also recorded for a client that is stored because a user has first consented to it. */
      readonly type: 'client_created';
      readonly clientId: string;
      readonly name: string;
      /** Absent for a client that a person or a program registered. */
      readonly source?: string | undefined;
    }
  | {
      /** `client_withdrawn` means that the description of the client is gone or not valid any more, so that nobody can authorize it. */
      readonly type: 'client_disabled' | 'client_enabled' | 'client_deleted' | 'client_withdrawn';
      readonly clientId: string;
      readonly name: string;
    }
  | {
      readonly type: 'client_updated';
      readonly clientId: string;
      /** The fields that changed, such as `redirectUris`. */
      readonly fields: readonly string[];
    }
  | {
      readonly type: 'secret_added' | 'secret_deleted';
      readonly clientId: string;
      readonly secretId: string;
      readonly label: string;
      /** The last four characters of the value. */
      readonly hint: string;
    }
  | {
      readonly type: 'tokens_revoked';
      /** What was revoked: one token, all tokens of a grant, a user or a client, or all tokens of the server. */
      readonly target: 'token' | 'grant' | 'user' | 'client' | 'all';
      readonly clientId?: string | undefined;
      readonly userId?: string | undefined;
      /** Begins with `passport-access-` or `passport-refresh-` for the grant of such a token of Passport: see `laravelPassport()`. */
      readonly grantId?: string | undefined;
    }
  /** What was stored of a user was erased: the user is in no record. */
  | { readonly type: 'user_erased' }
  | {
      readonly type: 'assignment_changed';
      readonly userId: string;
      readonly roles: readonly string[];
      readonly permissions: readonly string[];
    }
  /**
   * An agent has run an action as a tool: see `koa-gatehouse/mcp`. A repeated call that gets its stored result is no such event.
   * `tool_read` means that nothing was changed, because the action is `readOnly` or its input was refused.
   */
  | {
      readonly type: 'tool_called' | 'tool_read';
      /** Absent when the agent has a personal access token. */
      readonly clientId?: string | undefined;
      /** The personal access token of the agent. */
      readonly tokenId?: string | undefined;
      readonly userId?: string | undefined;
      /** Such as `rename_school`. */
      readonly tool: string;
      /** The type and the name of the action, such as `school/rename-school-action`. */
      readonly action: string;
      /** The id of the object, for an action of the level `instance`. */
      readonly objectId?: string | undefined;
      /** The code of the problem, such as `school_not_found`; absent when the action succeeded. */
      readonly error?: string | undefined;
      /** The URL of the endpoint. */
      readonly resource: string;
    }
  /**
   * In `key_rotated`, `keyId` is the new key. In `key_revoked`, it is a signing or cookie key that was ended at once, because it had
   * leaked.
   */
  | { readonly type: 'key_rotated' | 'key_revoked'; readonly keyId: string };

/**
 * The name of a type of event, such as `login_failed`.
 *
 * @useDeclaredType
 */
export type AuditEventType = AuditEvent['type'];

/** The user and the request that caused an event. */
export interface AuditOrigin {
  /** Id of the user who made the change in the developer area or on the page of authorized apps; absent for programs. */
  readonly actorId?: string | undefined;
  /** The address that the request came from: Koa's `ctx.ip`. */
  readonly address?: string | undefined;
  /** The id of the request, which is also in its log lines; absent outside requests. */
  readonly requestId?: string | undefined;
}

/** An event as the audit log stores it: of any type, or of one, as in `AuditRecord<'login'>`, with the members of that type. */
export type AuditRecord<T extends AuditEventType = AuditEventType> = AuditEvent &
  AuditOrigin & {
    readonly type: T;
    /** A UUID of version 7: ids sort by time (RFC 9562 section 5.7). */
    readonly id: string;
    /** When the event happened, with the milliseconds as a fraction (NumericDate, RFC 7519 section 2). */
    readonly at: Seconds;
  };

/** Selects events of the audit log, one page, newest first. Members that are left out match everything. */
export interface AuditQuery {
  readonly clientId?: string | undefined;
  /** The user that the event is about. Another user may have caused it: {@link AuditOrigin.actorId}. */
  readonly userId?: string | undefined;
  /** Events of any of these types. */
  readonly types?: readonly AuditEventType[] | undefined;
  /** The last event of the previous page. */
  readonly after?: Pick<AuditRecord, 'id' | 'at'> | undefined;
  /** The number of events, 1 to 200. @default 50 */
  readonly limit?: number | undefined;
}

/** Selects events to count: the events of one type and one client, on whole days in UTC. */
export interface AuditDayQuery {
  readonly clientId: string;
  readonly type: AuditEventType;
  /** Events before this time are not counted. */
  readonly since: Seconds;
  /** The largest number of events that are counted, the newest first. It limits the rows that a database reads. */
  readonly most: number;
}

/** The number of events on a day. */
export interface AuditDay {
  /** When the day begins in UTC. */
  readonly day: Seconds;
  readonly count: number;
}

/** Stores the audit log: the `audit` of a {@link Storage}. */
export interface AuditStore {
  /**
   * Adds records, all or none. A record whose id is stored already stays unchanged, so the call can be repeated after an error.
   *
   * @param expiresAt - when the records may be pruned
   */
  append(records: readonly AuditRecord[], expiresAt: Seconds): Promise<void>;
  /** Lists records newest first: by time, then by id. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Counts records by day, newest day first; days without any are left out. */
  countByDay(query: AuditDayQuery): Promise<readonly AuditDay[]>;
}

/** The audit log: records events, notifies listeners and lists what was recorded. */
export interface AuditLog {
  /**
   * Notifies the listeners at once and stores the event. Events are written in batches within a second, and no request waits for the
   * write; a crash loses the events of the last second.
   *
   * On each node, the number of stored events is limited where strangers, users and apps can repeat them as they like. It is limited in
   * shares, so that no share suppresses another. Listeners get all events, and the log says how many were not stored. docs/limits.md,
   * "The audit log", has the numbers.
   */
  record(event: AuditEvent, origin?: AuditOrigin): void;
  /**
   * Calls `listener` for each event of this node, until the returned function is called. An error of a listener is logged.
   * @throws ConfigError when there is no event of this type, or the listener is not a function
   */
  on<T extends AuditEventType>(type: T, listener: (record: AuditRecord<T>) => void): () => void;
  /** Calls `listener` for events of every type. */
  on(type: '*', listener: (record: AuditRecord) => void): () => void;
  /**
   * Lists the stored events of every node, newest first. Includes the events that this node has just recorded.
   *
   * @throws ConfigError when `limit` is not from 1 to 200
   * @throws StorageError when the storage cannot be reached
   */
  list(query?: AuditQuery): Promise<readonly AuditRecord[]>;
  /**
   * Counts the stored events of every node by day, newest day first; days without any are left out. Includes the events that this
   * node has just recorded.
   *
   * @throws StorageError when the storage cannot be reached
   */
  countByDay(query: AuditDayQuery): Promise<readonly AuditDay[]>;
  /**
   * Resolves when every event recorded so far is written.
   *
   * @throws StorageError when the write failed; the events stay in memory, and the write is repeated within a second
   */
  flush(): Promise<void>;
}
