/** How many attempts are counted, and for how long. Times are in seconds since 1970. */
export interface AttemptWindow {
  /** At least 1. */
  readonly limit: number;
  readonly now: number;
  /** When the window ends that this attempt opens, if none is open. */
  readonly expiresAt: number;
}

/**
 * Counts attempts at something that can be guessed: the `attempts` of a {@link Storage}. The ids tell nothing of what is
 * counted: they are made with a secret of the server.
 */
export interface AttemptStore {
  /**
   * Counts one more attempt, unless there are `limit` of them already: of any number of callers at once, on any node, no
   * more than `limit` are counted until the window ends, which is from its `expiresAt` on.
   *
   * @returns `undefined` when it is counted; else when the window ends, in seconds since 1970
   */
  count(id: string, window: AttemptWindow): Promise<number | undefined>;
  /** Takes back one attempt that was counted. */
  giveBack(id: string): Promise<void>;
  /** Takes back all of them. */
  forget(id: string): Promise<void>;
}

/** Where a login comes from. */
export interface LoginOrigin {
  readonly address: string;
  /** Names a browser that the account has signed in on before; `undefined` for every other one. */
  readonly browser: string | undefined;
}

/** Runs what can be guessed, a few times. */
export interface LoginThrottle {
  /**
   * Counts a login, and then checks it. One that is right is given back, and so is one whose check throws.
   *
   * @param login - what was typed
   * @throws TooManyAttemptsError without checking, when too many have failed
   */
  attempt<T>(login: string, from: LoginOrigin, check: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** Tells browsers that an account has signed in on before, by what they keep in a cookie. */
export interface KnownBrowsers {
  /** Names the browser, if this account has signed in on it. */
  find(cookie: string, login: string): string | undefined;
  /** What the browser is to keep from here on, and until when: in seconds since 1970. Call it when the login was right. */
  renew(cookie: string, login: string): { readonly cookie: string; readonly expiresAt: number };
}

/** Counts the failed authentications of clients. Those that succeed cost nothing. */
export interface ClientThrottle {
  /**
   * Asks no storage: every node learns of failures on others when it sees one itself.
   *
   * @throws TooManyAttemptsError when too many have failed
   */
  check(clientId: string, address: string): void;
  /** @throws TooManyAttemptsError when too many have failed */
  countFailure(clientId: string, address: string): Promise<void>;
}
