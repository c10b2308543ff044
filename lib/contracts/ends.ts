import type { Seconds } from './duration.ts';

/**
 * What has ended. A `sign_in` is the end of a login session for one client at which it has signed its user in; the grant goes on. A
 * `user`, `client` or `all` ends everything until now: it is one row, whatever it ends, and its reader looks for what it needs. A
 * `connection` is the end of all grants of a user to a client, also of those that are stored elsewhere. An `admission` says that a client
 * was disabled, or enabled again; its reader looks up which of the two.
 */
export type EndKind =
  | 'token'
  | 'grant'
  | 'connection'
  | 'sign_in'
  | 'session'
  | 'user'
  | 'client'
  | 'admission'
  | 'all';

/**
 * Who has ended something. `owner` is the owner of the thing or of the server; `client` is the client, which therefore knows of the end;
 * `replay` is the server, which has refused a replay.
 */
export type EndedBy = 'owner' | 'client' | 'replay';

/** The end of something, as the outbox stores it for one of its readers. */
export interface End {
  readonly id: string;
  readonly kind: EndKind;
  /** The `jti` of the token, the id of the grant, the user or the client, or the `uid` of the session; `''` for the end of all. */
  readonly value: string;
  readonly userId: string | undefined;
  readonly clientId: string | undefined;
  readonly sessionUid: string | undefined;
  readonly by: EndedBy;
  readonly at: Seconds;
  /** A random id of the call that has taken the end, because another node may take it when it was not handled in time. */
  readonly attempt: string;
}

/**
 * The outbox of ends: the `ends` of a {@link Storage}. A transaction that ends a token, a grant, a session, a user or a client also
 * stores the end for each reader of its kind; without a reader nothing is stored.
 */
export interface EndStore {
  /**
   * Registers a reader: from now on until a time, ends of these kinds are stored for it, whatever node or command writes them. Repeat the
   * call before that time.
   */
  read(reader: string, kinds: readonly EndKind[], until: Seconds): Promise<void>;
  /**
   * Takes ends for a reader in the order in which they were stored. For the ends of the same thing this is the order in which they
   * happened, because they wait for each other; the ends of users, of clients and of all wait for each other too. Of other ends that were
   * stored at the same moment, one may be found after another was taken. Ends that were given back, or not handled in time, are taken
   * after later ones. Among concurrent callers, on any number of nodes, only one gets an end; another caller gets it after `leasedUntil`,
   * unless it is {@link EndStore.done} or given back before.
   */
  take(
    reader: string,
    page: { readonly now: Seconds; readonly leasedUntil: Seconds; readonly limit: number },
  ): Promise<readonly End[]>;
  /** Removes ends that their reader has taken. */
  done(ends: readonly Pick<End, 'id'>[]): Promise<void>;
  /**
   * Gives ends back that could not be handled; they are taken again from `dueAt` on. Leaves ends unchanged that another node has taken
   * since.
   */
  release(ends: readonly Pick<End, 'id' | 'attempt'>[], dueAt: Seconds): Promise<void>;
  /** Calls a function after each end that this process has written, whether anybody reads it or not. The returned function removes it. */
  onWritten(listener: (written: WrittenEnd) => void): () => void;
}

/** An end that was stored, for caches. */
export interface WrittenEnd {
  readonly kind: Exclude<EndKind, 'connection' | 'sign_in'>;
  /** What caches may have of it; `undefined` when everything in them may be out of date. */
  readonly change: StoredChange | undefined;
}

/**
 * What was changed or revoked: whatever nodes have cached for any of these members is out of date. Naming more than has changed only
 * costs another read.
 */
export interface StoredChange {
  /** The `jti` of a token. Not its text, because an ES256 signature can be changed into another valid one. */
  readonly tokenId?: string | undefined;
  readonly grantId?: string | undefined;
  /** A user: all tokens of the user, and the tokens of the clients that the user owns. */
  readonly userId?: string | undefined;
  /** A client: its own tokens, and the tokens of its users. */
  readonly clientId?: string | undefined;
}
