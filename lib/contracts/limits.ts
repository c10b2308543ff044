import type { ServerResponse } from 'node:http';

import type { Context } from 'koa';

import type { Seconds } from './duration.ts';

/**
 * Limits attempts of one kind in a window of time, on all nodes together. For a limit that is switched off, there is no limiter: it is
 * `undefined`.
 *
 * @typeParam S - who or what makes an attempt
 */
export interface Limiter<S> {
  /**
   * Compares the counts that this node knows, without a read of the storage. The node reads the counts of the
   * other nodes when it counts an attempt itself.
   *
   * @throws TooManyAttemptsError when the limit is reached
   */
  check(subject: S): void;
  /** Counts an attempt. @throws TooManyAttemptsError when the limit is reached; the attempt is not counted then */
  take(subject: S): Promise<void>;
  /**
   * Counts an attempt and then runs it. The attempt is uncounted when it succeeds or throws, so that only failed attempts count.
   *
   * @param run - runs the attempt, and resolves to `undefined` when it has failed. Gets `RevocationStore.latestSequence` from before the
   * attempt
   * @throws TooManyAttemptsError without running the attempt, when too many have failed
   */
  attempt<T>(subject: S, run: (sequence: number) => Promise<T | undefined>): Promise<T | undefined>;
}

/** A login, as the user typed it, and where it comes from. */
export interface LoginAttempt {
  readonly login: string;
  readonly address: string;
  /** Identifies a browser in which the account has logged in before; `undefined` for every other browser. */
  readonly browser: string | undefined;
}

/** A request that claims to be of a client. */
export interface ClientAttempt {
  readonly clientId: string;
  readonly address: string;
}

/** A token request of a client for a user, which stores a refresh token. */
export interface RefreshAttempt {
  readonly clientId: string;
  readonly userId: string;
  /** The authorization that is refreshed; `undefined` when it begins with the request. */
  readonly grantId: string | undefined;
  /** The lifetime of the access token. */
  readonly lifetime: Seconds;
}

/** Recognizes the browsers in which an account has logged in before, by a cookie. */
export interface KnownBrowsers {
  /** The identifier of the browser, if this account has logged in with it. */
  find(cookie: string, login: string): string | undefined;
  /** The value to set the cookie to after a successful login, and when it expires. */
  renew(cookie: string, login: string): { readonly cookie: string; readonly expiresAt: Seconds };
}

/**
 * Limits how many requests of a node wait at once for what strangers serve: the documents and the keys of clients. Each waiting request
 * holds a place of `limits.concurrency`.
 */
export interface RemoteWaits {
  /**
   * Waits for a read, as one of the requests that may wait. Several requests can wait for one read.
   *
   * @throws TooManyAttemptsError at once, without a read, when too many requests wait already: in all, for the URL, or from the network
   */
  wait<T>(place: { readonly url: string; readonly address: string }, read: () => T | Promise<T>): Promise<T>;
}

/** A limit of the requests of each caller. */
export interface CallerLimit {
  /** Such as `user`. Lower-case letters, digits, hyphens and slashes, because it is sent in header fields. */
  readonly name: string;
  /** The largest number of requests in a window. */
  readonly requests: number;
  /** The length of the window, which begins with the first request. */
  readonly window: Seconds;
}

/** Makes the function that finds the limiter of a caller. Equal limits share their limiters. */
export type LimitCallers = (limit: CallerLimit) => (caller: string) => CallerLimiter;

/** Limits the requests of a caller on all nodes together. Its numbers are what this node knows. */
export interface CallerLimiter {
  /**
   * Counts requests, all or none. Most calls return at once; others take a share of the limit from the storage first.
   *
   * @returns the window in which the requests were counted; `undefined` when fewer are left, so that the request is refused
   * @throws StorageError when the storage cannot be reached
   */
  take(count: number): number | undefined | Promise<number | undefined>;
  /** Uncounts requests on this node, unless their window has ended. */
  giveBack(count: number, window: Seconds): void;
  readonly remaining: number;
  /** The time to the end of the window. */
  readonly seconds: Seconds;
}

/**
 * Why a request is not run: the server has begun to close, too many requests are running, or the request has
 * waited so long that its client may have repeated it at another node.
 */
export type Overload = 'closing' | 'late' | 'overloaded';

/** Limits how many requests run at once, and waits for the running ones at shutdown. */
export interface ConcurrencyLimit {
  /** Whether every response ends its connection, because the server has begun to drain or to close. */
  readonly isDraining: boolean;
  /**
   * Why no request is run now: the server has begun to close, or the request that is read now may have waited for so long that its client
   * has given up. `undefined` when requests are run.
   */
  readonly refusal: 'closing' | 'late' | undefined;
  /** How many requests are running, including those whose body is being received or whose response is being sent. */
  readonly count: number;
  /**
   * Runs the work of a request, or refuses it at once: requests do not queue. A request counts until its response was sent. A request
   * whose work returns `false` was not answered, and counts only until then.
   */
  run<T>(ctx: Context, work: () => Promise<T>, refuse: (overload: Overload) => T | Promise<T>): Promise<T>;
  /** Closes the connection of a response when its client does not receive it, for a request that does not count. */
  limitSending(res: ServerResponse): void;
  /**
   * Counts a streamed response to a caller until it has ended. Returns `false` when streams to this caller are already a tenth of all
   * requests that may run: the caller could use up the limit by reading none of them.
   */
  admitStream(caller: string, res: ServerResponse): boolean;
  /** Ends the connection with each response from here on (RFC 9112 section 9.6). Requests are still run. */
  drain(): void;
  /** Refuses all requests from here on. Resolves when the running requests have ended. */
  close(): Promise<void>;
}
