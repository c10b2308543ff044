import type { Context } from 'koa';
import { Provider } from 'oidc-provider';

import type { AccessTokenClaims, Consent, Credential, Grant } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import type { Endpoint } from './endpoints.ts';

/**
 * What the steps of one request tell each other. The engine calls the adapter once per row; keeping the pieces here
 * until they are complete is what lets several rows become one transaction.
 */
export interface RequestState {
  /** The host's context of the same request. */
  readonly host: Context;
  /** What it is a request to; `undefined`: nothing that is logged. */
  readonly endpoint: Endpoint | undefined;
  /** What the error page and the log line have in common. */
  readonly requestId: string;
  /** When the engine was given it, by `performance.now()`. */
  readonly startedAt: number;
  /** A client that the request names and that is there, but disabled: the engine does not find it. */
  disabledClientId?: string;
  /** The id that a client authenticates with, whether there is one of this id or not. */
  triedClientId?: string;
  /** The consent that an authorization rests on; none when the client needs none. */
  agreed?: Consent;
  /** No scope was asked for, and the client is registered for none: what comes of this may do nothing. */
  isLimitedToNothing?: true;
  /** The login session of the request's browser, as the storage has it. */
  session?: FoundSession;
  /** The end number that the client had when the request first named it, see `StoredClient.sequence`. */
  sequence?: number;
  /** What the authorization rests on has ended meanwhile: the browser is to send the request again. */
  mustBeginAgain?: true;
  /** The grant that came along with a code or a refresh token. */
  grant?: Grant;
  /** A live code with a PKCE challenge that the request presents. */
  code?: Pick<Credential, 'kind' | 'id' | 'expiresAt'>;
  /** A code or refresh token that the engine has checked and will spend. */
  presented?: Pick<Credential, 'kind' | 'id'> & { readonly value: string };
  /** The presented credential is spent in the storage. */
  redeemed?: true;
  /** Inside the grace window: the successor that was minted before, to be answered instead of a new one. */
  successor?: string;
  /** A JWT at the revocation or introspection endpoint, verified. */
  claims?: AccessTokenClaims;
  /** Why the request was refused. */
  oauthError?: OAuthError;
  /** The grant whose tokens stopped working by this request: given back, or presented twice. */
  revokedGrantId?: string;
  /** In seconds: when a client that was refused for now may try again. */
  retryAfter?: number;
  /** What went wrong inside the server. */
  failure?: unknown;
  /** A page for a person has been put on the host's context. */
  hasPage?: true;
}

/** A login session as it was found. */
export interface FoundSession {
  /** That of its row. */
  readonly id: string;
  /** How often anybody had been ended at that moment, see `RevocationStore`. */
  readonly sequence: number;
  /** In seconds. */
  readonly expiresAt: number;
  /** Everything else that would have to be written again. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** Why a request was refused. */
export interface OAuthError {
  /** The OAuth error code that the client gets, such as `invalid_grant`. */
  readonly error: string;
  /** Why, for the client's developer; more than the client is told. */
  readonly reason: string;
}

// On the context itself: a map of all that are under way costs a request more than most of its steps.
const STATE = Symbol('gatehouse.state');

interface WithState {
  [STATE]?: RequestState;
}

class StartedState implements RequestState {
  readonly host: Context;
  readonly endpoint: Endpoint | undefined;
  readonly startedAt = performance.now();

  constructor(host: Context, endpoint: Endpoint | undefined) {
    this.host = host;
    this.endpoint = endpoint;
  }

  // Not before somebody asks: a request that turns out to be the host's gets none from here.
  get requestId(): string {
    return requestIdOf(this.host);
  }
}

/** Starts the state of a request that the engine will work on in a context of its own. */
export function startState(
  engineContext: object,
  host: Context,
  endpoint: Endpoint | undefined,
): RequestState {
  const state: RequestState = new StartedState(host, endpoint);
  (engineContext as WithState)[STATE] = state;
  return state;
}

/** The state of a request, by the engine's context. */
export function stateOf(engineContext: object): RequestState {
  const state = (engineContext as WithState)[STATE];
  if (!state) throw new Error('The engine was run without its request state');
  return state;
}

/** The state of the request that the engine is working on; `undefined` outside of its routes. */
export function currentState(): RequestState | undefined {
  const { ctx } = Provider;
  return (ctx as WithState | undefined)?.[STATE];
}
