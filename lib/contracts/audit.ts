/** Something that happened, for the record. None of its members ever holds a credential, or text that a stranger sent. */
export type AuditEvent =
  | {
      readonly type: 'token_issued';
      readonly clientId: string;
      readonly userId?: string | undefined;
      readonly grantId?: string | undefined;
      /** Such as `refresh_token`; `host` for a token of `auth.issueToken()`. */
      readonly grantType: string;
    }
  | {
      readonly type: 'token_refused' | 'authorization_refused';
      /** Only of a client that exists. */
      readonly clientId?: string | undefined;
      readonly userId?: string | undefined;
      readonly grantType?: string | undefined;
      /** The OAuth error code that the client got, such as `invalid_grant`. */
      readonly error: string;
      /** Why, for the client's developer; more than the client was told. */
      readonly reason: string;
    }
  | {
      readonly type: 'login' | 'logout';
      readonly userId: string;
      /** The client that asked for it; absent outside an authorization. */
      readonly clientId?: string | undefined;
    }
  | { readonly type: 'login_failed'; readonly clientId?: string | undefined }
  /** Refused without a look at the password, because too many logins have failed: see the option `throttling`. */
  | { readonly type: 'login_throttled' }
  | {
      readonly type: 'consent_given' | 'consent_denied' | 'consent_withdrawn';
      readonly userId: string;
      readonly clientId: string;
      readonly scopes: readonly string[];
    }
  | {
      readonly type: 'client_created' | 'client_disabled' | 'client_enabled' | 'client_deleted';
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
      /** Whose: of one grant, of all of a user's or of a client's, or one token's. */
      readonly target: 'token' | 'grant' | 'user' | 'client';
      readonly clientId?: string | undefined;
      readonly userId?: string | undefined;
      readonly grantId?: string | undefined;
    }
  | {
      readonly type: 'assignment_changed';
      readonly userId: string;
      readonly roles: readonly string[];
      readonly permissions: readonly string[];
    }
  | { readonly type: 'key_rotated'; readonly keyId: string };

/**
 * What an event is called.
 *
 * @useDeclaredType
 */
export type AuditEventType = AuditEvent['type'];

/** Who did it, and from where. */
export interface AuditOrigin {
  /** Id of the user who did it in the developer area or among their connected apps; absent for programs. */
  readonly actorId?: string | undefined;
  /** The address of the request, as Koa's `ctx.ip` tells it. */
  readonly address?: string | undefined;
  /** The id of the request, which the lines of the log about it have too; absent outside of requests. */
  readonly requestId?: string | undefined;
}

/** An event that was kept. */
export type AuditRecord = AuditEvent &
  AuditOrigin & {
    /** A UUID of version 7: ids sort by time (RFC 9562 section 5.7). */
    readonly id: string;
    /** In milliseconds since 1970. */
    readonly at: number;
  };

/** An event of one type that was kept, with the members of that type. */
export type AuditRecordOf<T extends AuditEventType> = Extract<AuditRecord, { type: T }>;

/** A page of the record, newest first. Members that are left out match everything. */
export interface AuditQuery {
  readonly clientId?: string | undefined;
  /** Whom the event is about; who did it, where that is somebody else, is `actorId`. */
  readonly userId?: string | undefined;
  /** Any of these: see {@link AuditEventType}. */
  readonly types?: readonly AuditEventType[] | undefined;
  /** The last record of the page before. */
  readonly before?: Pick<AuditRecord, 'id' | 'at'> | undefined;
  /** 1 to 200. @default 50 */
  readonly limit?: number | undefined;
}

/** Keeps what happened: the `audit` of a {@link Storage}. */
export interface AuditStore {
  /**
   * Adds records, all or none. Those that are there already, by id, stay as they are: it can be called again after an error.
   *
   * @param expiresAt - when they may be pruned, in seconds since 1970
   */
  append(records: readonly AuditRecord[], expiresAt: number): Promise<void>;
  /** Newest first: by time, then id. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

/** The record, as the rest of the server and the host use it. */
export interface AuditLog {
  /**
   * Tells the listeners at once, and keeps the event. It is written with others within a second: what was recorded in
   * the last second before a crash is lost, and no request waits for it. Of the events that anybody can cause, which are
   * the refused and the failed ones, 1000 of each type at once are kept and 10 a second after that; the log tells how many
   * were left out.
   */
  record(event: AuditEvent, origin?: AuditOrigin): void;
  /**
   * Calls `listener` for each event of this node, until the returned function is called. What a listener throws is logged.
   * @throws ConfigError when there is no event of this type, or the listener is not a function
   */
  on<T extends AuditEventType>(type: T, listener: (record: AuditRecordOf<T>) => void): () => void;
  /** The same for events of every type. */
  on(type: '*', listener: (record: AuditRecord) => void): () => void;
  /**
   * The events that were kept, newest first, of every node. Those that this node has just recorded are among them.
   *
   * @throws ConfigError when `limit` is not from 1 to 200
   * @throws StorageError when the storage cannot be reached
   */
  list(query?: AuditQuery): Promise<readonly AuditRecord[]>;
  /**
   * Resolves when everything recorded so far is written.
   *
   * @throws StorageError when it could not be; it is kept, and tried again within a second
   */
  flush(): Promise<void>;
}
