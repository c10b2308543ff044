import type { Context } from 'koa';
import { Provider } from 'oidc-provider';

import type { AccessTokenClaims, Consent, StoredClient } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import type { Endpoint } from './endpoints.ts';
import { Outcome } from './outcome.ts';
import type { PresentedCredential } from './redemption.ts';

/**
 * A request that the engine works on. The engine calls the adapter once per row and its hooks one by one; what one of them found
 * stands here for those that follow, so that several rows become one transaction and no row is read twice.
 *
 * Three records, each written by its own methods only: what the client presents at an endpoint for clients, what an authorization
 * rests on, and how the request ended.
 */
export class EngineRequest {
  /** The host's context of the same request. */
  readonly host: Context;
  /** What it is a request to; `undefined`: nothing that is logged. */
  readonly endpoint: Endpoint | undefined;
  /** When the engine was given it, by `performance.now()`. */
  readonly startedAt: number = performance.now();
  readonly outcome: Outcome = new Outcome();

  #clientId: string | undefined;
  #client: StoredClient | undefined;
  #clientSequence: number | undefined;
  #asksForNothing = false;
  #presented: PresentedCredential | PresentedAccessToken | undefined;
  #authorization: AuthorizationBasis | undefined;

  constructor(host: Context, endpoint: Endpoint | undefined) {
    this.host = host;
    this.endpoint = endpoint;
  }

  /** What the error page and the log line have in common. */
  // Not before somebody asks: a request that turns out to be the host's gets none from here.
  get requestId(): string {
    return requestIdOf(this.host);
  }

  /** The first `client_id` that was looked for, whether there is such a client or not. */
  get clientId(): string | undefined {
    return this.#clientId;
  }

  /** The client's end number when it was found first, see `StoredClient.sequence`. */
  get clientSequence(): number | undefined {
    return this.#clientSequence;
  }

  /** A client that is there, but disabled: the engine does not find it. */
  get disabledClientId(): string | undefined {
    return this.#client?.client.disabled ? this.#client.client.id : undefined;
  }

  /** A client is looked for, by what the request says. */
  lookForClient(id: string): void {
    this.#clientId ??= id;
  }

  foundClient(stored: StoredClient): void {
    this.#client = stored;
    this.#clientSequence ??= stored.sequence;
  }

  /** No scope was asked for, and the client is registered for none: what comes of this may do nothing. */
  get asksForNothing(): boolean {
    return this.#asksForNothing;
  }

  askForNothing(): void {
    this.#asksForNothing = true;
  }

  /** The code or refresh token that the request presents, and how far it is redeemed. */
  get credential(): PresentedCredential | undefined {
    return this.#presented?.kind === 'access_token' ? undefined : this.#presented;
  }

  /** The verified claims of the access token that the request asks about or gives back. */
  get accessTokenClaims(): AccessTokenClaims | undefined {
    return this.#presented?.kind === 'access_token' ? this.#presented.claims : undefined;
  }

  present(presented: PresentedCredential | PresentedAccessToken): void {
    this.#presented = presented;
  }

  /** What a code of this authorization request would rest on; `undefined`: nobody is logged in on this browser. */
  get authorization(): AuthorizationBasis | undefined {
    return this.#authorization;
  }

  foundSession(session: FoundSession): void {
    this.#authorization = { session, consent: undefined };
  }

  /** @throws Error when nobody is logged in, who could have consented */
  foundConsent(consent: Consent): void {
    if (!this.#authorization) throw new Error('A consent is only looked for when a session was found');
    this.#authorization = { ...this.#authorization, consent };
  }
}

/** An access token that was presented at the revocation or introspection endpoint, verified. */
export interface PresentedAccessToken {
  readonly kind: 'access_token';
  readonly claims: AccessTokenClaims;
}

/** What has to stand still when the code is kept. */
export interface AuthorizationBasis {
  /** The login session of the request's browser, as the storage has it. */
  readonly session: FoundSession;
  /** `undefined`: the client needs none, or it is to be asked for. */
  readonly consent: Consent | undefined;
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

// On the context itself: a map of all that are under way costs a request more than most of its steps.
const REQUEST = Symbol('gatehouse.request');

interface WithRequest {
  [REQUEST]?: EngineRequest;
}

/** Starts a request that the engine will work on in a context of its own. */
export function startRequest(
  engineContext: object,
  host: Context,
  endpoint: Endpoint | undefined,
): EngineRequest {
  const request = new EngineRequest(host, endpoint);
  (engineContext as WithRequest)[REQUEST] = request;
  return request;
}

/** The request by the engine's context. */
export function requestOf(engineContext: object): EngineRequest {
  const request = (engineContext as WithRequest)[REQUEST];
  if (!request) throw new Error('The engine was run on a request that was not started');
  return request;
}

/** The request that the engine is working on; `undefined` outside of its routes. */
export function currentRequest(): EngineRequest | undefined {
  const { ctx } = Provider;
  return (ctx as WithRequest | undefined)?.[REQUEST];
}
