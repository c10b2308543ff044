/**
 * A pino-shaped logger. Gatehouse never hands it a credential.
 *
 * What its methods throw is dropped: a log that cannot be written stops no request.
 *
 * A line about a request has its id as `request_id`, and a line about an error has the error as `err`.
 */
export interface Logger {
  /** What helps to find a fault in an app that is being set up. */
  debug(fields: object, message: string): void;
  /** What happens in the course of things. */
  info(fields: object, message: string): void;
  /** What somebody should look at when it goes on. */
  warn(fields: object, message: string): void;
  /** A fault: of the server, of what the host handed in, or of the storage. */
  error(fields: object, message: string): void;
}

/** An endpoint that clients call with a body. */
export type ClientEndpoint = 'token' | 'revocation' | 'introspection';

/** What became of a request to an endpoint for clients. Nothing in it is text that the caller sent. */
export interface EndpointOutcome {
  readonly endpoint: ClientEndpoint;
  /** As `requestIdOf()` tells it. */
  readonly requestId: string;
  /** Only of a client that exists. */
  readonly clientId: string | undefined;
  /** Of a token request, when it is one that the server knows. */
  readonly grantType: string | undefined;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The OAuth error code that the client got, such as `invalid_grant`; `undefined` when it got what it asked for. */
  readonly error: string | undefined;
  /** How long it took, from the first look at the request to the finished answer. */
  readonly seconds: number;
}

/** What the guard, or `requires()` behind it, made of a request. */
export type GuardOutcome =
  | { readonly admitted: true; readonly remembered: true }
  | {
      readonly admitted: true;
      readonly remembered: false;
      /** How long it took to verify the token and to read who holds it. */
      readonly seconds: number;
    }
  | {
      readonly admitted: false;
      /** The `code` of the problem that was answered, such as `token_revoked` or `missing_permission`. */
      readonly code: string;
    };

/**
 * Somebody who wants figures. Called in the middle of requests, so what it does is short; an error that it throws is
 * logged and harms no request.
 */
export interface Observer {
  /** An endpoint for clients has answered. */
  answered?(outcome: EndpointOutcome): void;
  /** The guard has let a request through or refused it; one that lacks a permission is told of twice. */
  guarded?(outcome: GuardOutcome): void;
}

/** What may be said of a piece of work. Never a credential, nor text that a stranger sent. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** A piece of work in a trace. */
export interface WorkSpan {
  set(attributes: SpanAttributes): void;
  /** Marks the work as failed by a fault of the server. Of the error only its kind is told: messages can hold anything. */
  fail(error: unknown): void;
}

/**
 * Does a piece of work in a trace, so that what happens in it, such as queries, is shown as its parts. The work gets no
 * span when nobody wants one.
 */
export type Trace = <T>(name: string, work: (span?: WorkSpan) => Promise<T>) => Promise<T>;

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
