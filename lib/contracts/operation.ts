import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Client } from './clients.ts';

/**
 * A logger with the methods of pino. No line contains a credential.
 *
 * An error thrown by a method is ignored, so that a failing log does not fail a request.
 *
 * A line about a request has its id as `request_id`, and a line about an error has the error as `err`.
 */
export interface Logger {
  /** Details for the developer who sets up an app. */
  debug(fields: object, message: string): void;
  /** Normal events. */
  info(fields: object, message: string): void;
  /** Conditions that an operator should look into when they continue. */
  warn(fields: object, message: string): void;
  /** A fault of the server, of a function or object that the host passed, or of the storage. */
  error(fields: object, message: string): void;
}

/** An endpoint that clients call with a request body. */
export type ClientEndpoint = 'token' | 'revocation' | 'introspection' | 'device_authorization';

/** The result of a request to an endpoint for clients. No member is text from the request. */
export interface EndpointOutcome {
  /** `registration`: with the option `clients.registration` only. */
  readonly endpoint: ClientEndpoint | 'registration';
  /** The id that `requestIdOf()` returns. */
  readonly requestId: string;
  /** `undefined` when no client has the `client_id` of the request. */
  readonly clientId: string | undefined;
  /** The grant type of a token request; `undefined` for one that the server does not know. */
  readonly grantType: string | undefined;
  /** The HTTP status of the response. */
  readonly status: number;
  /** The OAuth error code of the response, such as `invalid_grant`; `undefined` for a success. */
  readonly error: string | undefined;
  /** The duration, from the start of the request to the finished response. */
  readonly seconds: number;
}

/** The outcome of a request to any endpoint, with what only the log says of it. */
export interface RequestOutcome {
  /** `undefined`: of the metadata, the keys, unknown paths and preflights, only failures are logged. */
  readonly endpoint: EndpointOutcome['endpoint'] | 'authorization' | undefined;
  readonly answer: Omit<EndpointOutcome, 'endpoint'>;
  /** Why it was refused, in more detail than the response gives. `undefined`: it was not refused. */
  readonly reason: string | undefined;
  /** A failure of the server. */
  readonly failure: unknown;
  /** The grant that the request revoked. */
  readonly revokedGrantId: string | undefined;
}

/** The decision of the guard, or of `requires()` and the limits of requests behind it, about a request. */
export type GuardOutcome =
  | { readonly admitted: true; readonly remembered: true }
  | {
      readonly admitted: true;
      readonly remembered: false;
      /** How long it took to verify the token and to load its user or client. */
      readonly seconds: number;
    }
  | {
      readonly admitted: false;
      /** The `code` of the problem in the response, such as `token_revoked` or `missing_permission`. */
      readonly code: string;
    };

/**
 * Receives the results of requests, for metrics. The methods are called synchronously during requests, so they should be short;
 * an error that they throw is logged and does not fail the request.
 */
export interface Observer {
  /** Called when an endpoint for clients has responded. */
  answered?(outcome: EndpointOutcome): void;
  /**
   * Called when the guard has accepted or refused a request. For a request without the required permission, or over a limit, it
   * is called twice: when the guard accepts the token, and when `requires()` or the limit refuses the request.
   */
  guarded?(outcome: GuardOutcome): void;
}

/** The attributes of a span. They hold no credential, and no text of a caller that was not authenticated. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** A span of a trace. */
export interface WorkSpan {
  set(attributes: SpanAttributes): void;
  /**
   * Marks the span as failed by a fault of the server. Records the kind of the error only, because messages can hold anything.
   */
  fail(error: unknown): void;
}

/**
 * Runs `work` in a span, so that spans within it, such as of queries, become its children. Without tracing, `span` is
 * `undefined`.
 */
export type Trace = <T>(name: string, work: (span?: WorkSpan) => Promise<T>) => Promise<T>;

/** The address and the browser of a login. */
export interface LoginOrigin {
  readonly address: string;
  /** Identifies a browser in which the account has logged in before; `undefined` for every other one. */
  readonly browser: string | undefined;
}

/** Limits how often a login can fail. */
export interface LoginThrottle {
  /**
   * Counts an attempt and then runs `check`. The attempt is uncounted when the check succeeds or throws.
   *
   * @param login - the login as the user typed it
   * @param check - gets the sequence of the revocations before the check; `undefined` when it was not read
   * @throws TooManyAttemptsError without running `check`, when too many attempts have failed
   */
  attempt<T>(
    login: string,
    from: LoginOrigin,
    check: (sequence: number | undefined) => Promise<T | undefined>,
  ): Promise<T | undefined>;
}

/** Recognizes the browsers in which an account has logged in before, by a cookie. */
export interface KnownBrowsers {
  /** The identifier of the browser, if this account has logged in with it. */
  find(cookie: string, login: string): string | undefined;
  /** The value to set the cookie to after a successful login, and when it expires, in seconds since 1970. */
  renew(cookie: string, login: string): { readonly cookie: string; readonly expiresAt: number };
}

/** Counts the failed authentications of clients. A successful one causes no write. */
export interface ClientThrottle {
  /**
   * Compares the counts that this node knows, without a read of the storage. The node reads the counts of the other nodes when
   * it counts a failure itself.
   *
   * @throws TooManyAttemptsError when too many have failed
   */
  check(clientId: string, address: string): void;
  /** @throws TooManyAttemptsError when too many have failed */
  countFailure(clientId: string, address: string): Promise<void>;
}

/**
 * Bounds how many requests of a node wait at once for what strangers serve: the documents and the keys of clients. Each of them
 * holds a place of `limits.requests`.
 */
export interface RemoteWaits {
  /**
   * Waits for a read as one of the requests that may. Several can wait for one read.
   *
   * @throws TooManyAttemptsError at once, and reads nothing, when as many wait already: in all, for the URL, or from the network
   */
  wait<T>(place: { readonly url: string; readonly address: string }, read: () => T | Promise<T>): Promise<T>;
}

/** Limits how often users enter a wrong user code (RFC 8628 section 5.1). */
export interface UserCodeThrottle {
  /**
   * Counts an attempt and then runs `find`. The attempt is uncounted when it finds something or throws.
   *
   * @throws TooManyAttemptsError without running `find`, when too many codes were wrong
   */
  attempt<T>(userId: string, address: string, find: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** Limits the device authorization requests of a client and of an address. */
export interface DeviceRequestThrottle {
  /** @throws TooManyAttemptsError when there were too many */
  count(client: Pick<Client, 'id' | 'confidential'>, address: string): Promise<void>;
}

/** A limit of the requests of one caller. */
export interface RequestPolicy {
  /** Such as `user`. Lower-case letters, digits, hyphens and slashes, because it is sent in header fields. */
  readonly name: string;
  /** The largest number of requests in a window. */
  readonly requests: number;
  /** In seconds, from the first request on. */
  readonly window: number;
}

/** Counts the requests of callers on all nodes together. */
export interface RequestCounter {
  /** Returns a function that finds the quota of a caller. Equal policies have the same quotas. */
  quotasOf(policy: RequestPolicy): (caller: string) => CallerQuota;
  /** Reports a refused request to the observers. */
  refused(): void;
}

/** What a caller may still send under a policy, as this node knows it. */
export interface CallerQuota {
  /**
   * Counts requests, all or none. Most calls return at once; others take a share of the limit from the storage first.
   *
   * @returns the window in which they were counted; `undefined`: fewer are left
   * @throws StorageError when the storage cannot be reached
   */
  take(count: number): number | undefined | Promise<number | undefined>;
  /** Uncounts requests on this node, unless their window has ended. */
  giveBack(count: number, window: number): void;
  readonly remaining: number;
  /** The time to the end of the window, in seconds. */
  readonly seconds: number;
}

/**
 * Why a request is not run: the server has begun to close, too many requests are running, or the request has waited so long that its
 * client may have repeated it at another node.
 */
export type Overload = 'closing' | 'late' | 'overloaded';

/** The parts of a Koa context that the limit reads. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body?: unknown;
}

/** Limits how many requests run at once, and waits for the running ones at shutdown. */
export interface ConcurrencyLimit {
  /** Whether every response ends its connection, because the server has begun to drain or to close. */
  readonly isDraining: boolean;
  /**
   * Why no request is run now: the server has begun to close, or the request that is read now may have waited for so long that its
   * client has given up. `undefined`: requests are run.
   */
  readonly refusal: 'closing' | 'late' | undefined;
  /** How many requests are running, including those whose body is still being received. */
  readonly count: number;
  /** Runs the work of a request, or refuses it at once: requests do not queue. */
  run<T>(
    exchange: Exchange,
    work: () => Promise<T>,
    refuse: (overload: Overload) => T | Promise<T>,
  ): Promise<T>;
  /**
   * Counts a streamed response to a caller until it has ended. `false`: a tenth of all requests that may run are streams to this
   * caller already, who would use up the limit by reading none of them.
   */
  admitStream(caller: string, res: ServerResponse): boolean;
  /** Ends the connection with each response from here on (RFC 9112 section 9.6). Requests are still run. */
  drain(): void;
  /** Refuses all requests from here on. Resolves when those that are running have ended. */
  close(): Promise<void>;
}
