import type { Seconds } from './duration.ts';

/**
 * What has ended. `sign_in`: a login session, for each client at which it has signed its user in; the grant goes on. `user`, `client` and
 * `all` end everything until now: one row each, whatever they end, and their reader looks for what it needs. `connection`: all grants of a
 * user to a client, also those that are stored elsewhere. `admission`: a client was disabled, or enabled again; its reader looks how it is
 * now.
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

/** Who has ended it: the owner of it or of the server; the client itself, which knows it; or the server, that refused a replay. */
export type EndedBy = 'owner' | 'client' | 'replay';

/** The end of something, as the outbox has it for one of its readers. */
export interface End {
  readonly id: string;
  readonly kind: EndKind;
  /** The `jti`, the id of the grant, of the user or of the client, the `uid` of the session; of all, `''`. */
  readonly value: string;
  readonly userId: string | undefined;
  readonly clientId: string | undefined;
  readonly sessionUid: string | undefined;
  readonly by: EndedBy;
  readonly at: Seconds;
  /** A random id of the taking: another node may take what was not done in time. */
  readonly attempt: string;
}

/**
 * The outbox of ends: the `ends` of a {@link Storage}. Whatever ends a token, a grant, a session, a user or a client stores it for each
 * reader of its kind, in the same transaction; without a reader nothing is stored.
 */
export interface EndStore {
  /** Stores ends of these kinds for a reader from now on until a time, whatever node or command writes them. Repeat it before that. */
  read(reader: string, kinds: readonly EndKind[], until: Seconds): Promise<void>;
  /**
   * Takes ends for a reader in the order in which they were stored. Of the same thing that is the order in which it ended, because its ends
   * wait for each other; so do those of users, of clients and of all. Of others, one that was stored at the same moment as another may be
   * found after it was taken, and what was given back, or was not done in time, is taken after later ones. Of concurrent callers, on any number of nodes, one gets an end; another one gets it after
   * `leasedUntil`, unless it is {@link EndStore.done} or given back before.
   */
  take(
    reader: string,
    page: { readonly now: Seconds; readonly leasedUntil: Seconds; readonly limit: number },
  ): Promise<readonly End[]>;
  /** Removes ends that their reader has taken. */
  done(ends: readonly Pick<End, 'id'>[]): Promise<void>;
  /** Gives ends back that could not be read: they are taken again from `dueAt` on. Changes nothing of those that another node has taken since. */
  release(ends: readonly Pick<End, 'id' | 'attempt'>[], dueAt: Seconds): Promise<void>;
  /** Calls a function after each end that this process has stored, whether anybody reads it or not. The returned function ends that. */
  onWritten(listener: (written: WrittenEnd) => void): () => void;
}

/** An end that was stored, for caches. */
export interface WrittenEnd {
  readonly kind: Exclude<EndKind, 'connection' | 'sign_in'>;
  /** What caches may have of it. `undefined`: all of it. */
  readonly change: StoredChange | undefined;
}

/**
 * What was changed or revoked: what nodes have cached of any of the members is out of date. Naming more than has changed only
 * costs another read.
 */
export interface StoredChange {
  /** The `jti` of a token. Not its text, because an ES256 signature can be changed into another valid one. */
  readonly tokenId?: string | undefined;
  readonly grantId?: string | undefined;
  /** A user: all tokens of the user, and those of the clients that the user owns. */
  readonly userId?: string | undefined;
  /** A client: its own tokens, and those of its users. */
  readonly clientId?: string | undefined;
}
