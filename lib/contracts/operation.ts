import type { Seconds } from './duration.ts';
import type { Principal } from './principals.ts';

/**
 * A logger with the methods of pino. No line contains a credential.
 *
 * An error thrown by a method is ignored, so that a failing log does not fail a request.
 *
 * A line about a request has its id as `request_id`, and a line about an error has the error as `err`.
 *
 * - `error`: `request failed`, `page failed`, `api request failed`
 * - `warn`: `token refused` with `revoked_grant_id`, where a code or a refresh token was reused; `logout not delivered`; `job failed`.
 *   A message with ` again` has the `count` of further failures of the same cause in ten seconds
 * - `info`: `token issued`, `token refused`, `authorization refused`, `revocation answered`, `revocation refused`,
 *   `introspection refused`, `device_authorization answered`, `device_authorization refused`, `login`, `login failed`,
 *   `login throttled`, `logout`, `page refused`; `authorization server started`, and once a day `running`
 * - `debug`: `introspection answered`, `token polled`, `logout delivered`, `logout not delivered yet`
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
export type ClientEndpoint = 'token' | 'revocation' | 'introspection' | (string & {});

/** The result of a request to an endpoint for clients. No member is text from the request. */
export interface EndpointOutcome {
  readonly endpoint: ClientEndpoint;
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
  readonly seconds: Seconds;
}

/** What the log, the trace and the metrics say of the requests to an endpoint. */
export interface LoggedEndpoint {
  /** The name in log lines, metrics and the trace span. */
  readonly name: string;
  /** Programs get JSON, also of an error; browsers get pages. */
  readonly callers: 'clients' | 'browsers';
  /** Whether requests to the endpoint are logged. Failures always are. */
  readonly isLogged: boolean;
  /** The log line of a success; `undefined` for none. */
  readonly success: { readonly level: 'info' | 'debug'; readonly outcome: 'issued' | 'answered' } | undefined;
}

/** The outcome of a request to any endpoint, with what only the log says of it. */
export interface RequestOutcome {
  /** `undefined` for the metadata, the keys, unknown paths and preflights, for which only failures are logged. */
  readonly endpoint: LoggedEndpoint | undefined;
  readonly answer: Omit<EndpointOutcome, 'endpoint'>;
  /** Whether the client has to ask again, like a device that polls. */
  readonly isPending?: boolean;
  /** Why the request was refused, in more detail than the response gives; `undefined` when it was not refused. */
  readonly reason: string | undefined;
  /** A failure of the server. */
  readonly failure: unknown;
  /** The grant that the request revoked. */
  readonly revokedGrantId: string | undefined;
}

/** Tells the log, the observers and the trace the outcome of a request. Called once per request. */
export type ReportOutcome = (outcome: RequestOutcome, span?: WorkSpan) => void;

/** The decision of the guard, or of `requires()` and the limits of requests behind it, about a request. */
export type GuardOutcome =
  | {
      readonly admitted: true;
      readonly remembered: true;
      /** The credential that authenticated the request. */
      readonly credential: Principal['credential'];
    }
  | {
      readonly admitted: true;
      readonly remembered: false;
      readonly credential: Principal['credential'];
      /** How long it took to verify the token and to load its user or client. */
      readonly seconds: Seconds;
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
  /** Marks the span as failed by a fault of the server. Records only the kind of the error, because messages can contain anything. */
  fail(error: unknown): void;
}

/**
 * Runs `work` in a span, so that spans within it, such as of queries, become its children. Without tracing, `span` is
 * `undefined`.
 *
 * @param route - the path of the endpoint, without values of the request: the host's span of the request gets it as `http.route`
 */
export type Trace = <T>(name: string, work: (span?: WorkSpan) => Promise<T>, route?: string) => Promise<T>;
