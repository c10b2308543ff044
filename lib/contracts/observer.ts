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
