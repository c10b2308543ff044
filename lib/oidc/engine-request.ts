import type { Context } from 'koa';
import { Provider } from 'oidc-provider';

import type { KeySet } from '../clients/remote-keys.ts';
import type { AccessTokenClaims, Consent, StoredClient } from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import type { Endpoint } from './endpoints.ts';
import { Outcome } from './outcome.ts';
import type { PresentedCredential } from './redemption.ts';

/**
 * The state of one request to the engine. The engine calls the adapter once for each row and calls its hooks separately; each
 * of them records here what it found, so that several rows can be written in one transaction and no row is read twice.
 *
 * It holds the client, the credential or token that the request presents, the session and the consent that an authorization
 * depends on, and the outcome. Each is written by its own methods only.
 */
export class EngineRequest {
  /** The host's context of the same request. */
  readonly host: Context;
  /** `undefined`: an endpoint whose requests are not logged. */
  readonly endpoint: Endpoint | undefined;
  /** The value of `performance.now()` when the request was handed to the engine, in milliseconds. */
  readonly startedAt: number = performance.now();
  readonly outcome: Outcome = new Outcome();

  #clientId: string | undefined;
  #client: StoredClient | undefined;
  #clientSequence: number | undefined;
  #isLimitedToNoScope = false;
  #presented: PresentedCredential | PresentedAccessToken | undefined;
  #authorization: AuthorizationBasis | undefined;
  #assertion: PresentedAssertion | undefined;

  constructor(host: Context, endpoint: Endpoint | undefined) {
    this.host = host;
    this.endpoint = endpoint;
  }

  /** The id that the error page shows and the log line contains. */
  // A getter, because an id is made on first use, and a request that falls through to the host must not get one here.
  get requestId(): string {
    return requestIdOf(this.host);
  }

  /** The first `client_id` that the engine looked up; the client may not exist. */
  get clientId(): string | undefined {
    return this.#clientId;
  }

  /** The row of the client that was read last; `undefined`: none was found. */
  get client(): StoredClient | undefined {
    return this.#client;
  }

  /** `StoredClient.sequence` when the client was first found. */
  get clientSequence(): number | undefined {
    return this.#clientSequence;
  }

  /** The id of the client when it is disabled. For the engine such a client does not exist. */
  get disabledClientId(): string | undefined {
    return this.#client?.client.disabled ? this.#client.client.id : undefined;
  }

  recordClientId(id: string): void {
    this.#clientId ??= id;
  }

  recordClient(stored: StoredClient): void {
    this.#client = stored;
    this.#clientSequence ??= stored.sequence;
  }

  /** The request names no scope and the client is registered for none, so its tokens are valid for no scope. */
  get isLimitedToNoScope(): boolean {
    return this.#isLimitedToNoScope;
  }

  limitToNoScope(): void {
    this.#isLimitedToNoScope = true;
  }

  /** The code or refresh token that the request presents. */
  get credential(): PresentedCredential | undefined {
    return this.#presented?.kind === 'access_token' ? undefined : this.#presented;
  }

  /** The verified claims of the access token that the request introspects or revokes. */
  get accessTokenClaims(): AccessTokenClaims | undefined {
    return this.#presented?.kind === 'access_token' ? this.#presented.claims : undefined;
  }

  present(presented: PresentedCredential | PresentedAccessToken): void {
    this.#presented = presented;
  }

  /** The client assertion of an existing client; `undefined`: the request presents none. */
  get assertion(): PresentedAssertion | undefined {
    return this.#assertion;
  }

  presentAssertion(presented: PresentedAssertion | undefined): void {
    this.#assertion = presented;
  }

  /** Records that the assertion was used before. */
  markReplayed(): void {
    this.#assertion = this.#assertion && { ...this.#assertion, isReplayed: true };
  }

  /** The session and consent that a code of this request depends on; `undefined`: no user is logged in on this browser. */
  get authorization(): AuthorizationBasis | undefined {
    return this.#authorization;
  }

  recordSession(session: FoundSession): void {
    this.#authorization = { session, consent: undefined };
  }

  /** @throws Error when no session was recorded */
  recordConsent(consent: Consent): void {
    if (!this.#authorization) throw new Error('A consent is only looked for when a session was found');
    this.#authorization = { ...this.#authorization, consent };
  }
}

/** A verified access token that was presented at the revocation or introspection endpoint. */
export interface PresentedAccessToken {
  readonly kind: 'access_token';
  readonly claims: AccessTokenClaims;
}

/** What is known of a client assertion (RFC 7523) and its client. */
export interface PresentedAssertion {
  /** The keys to verify it with. `undefined`: there are none, for the reason in `problem`. */
  readonly keys: KeySet | undefined;
  readonly problem: string | undefined;
  /** Whether its signature was verified, and it was used before. */
  readonly isReplayed: boolean;
}

/** The session and the consent that must still be stored, unchanged, when the code is stored. */
export interface AuthorizationBasis {
  /** The login session of the browser, as stored. */
  readonly session: FoundSession;
  /** `undefined`: the client needs no consent, or the user has not given it yet. */
  readonly consent: Consent | undefined;
}

/** A login session as it was read from the storage. */
export interface FoundSession {
  /** The id of its row. */
  readonly id: string;
  /** `RevocationStore.sequence` at the time of the read. */
  readonly sequence: number;
  /** In seconds. */
  readonly expiresAt: number;
  /** The rest of its content, to be compared before a write. */
  readonly content: Readonly<Record<string, unknown>>;
}

// A property of the context: a map with all requests cost more time per request than most of its steps.
const REQUEST = Symbol('gatehouse.request');

interface WithRequest {
  [REQUEST]?: EngineRequest;
}

/** Attaches a new request state to the engine's context. */
export function startRequest(
  engineContext: object,
  host: Context,
  endpoint: Endpoint | undefined,
): EngineRequest {
  const request = new EngineRequest(host, endpoint);
  (engineContext as WithRequest)[REQUEST] = request;
  return request;
}

/** The request state of an engine context. @throws Error when there is none */
export function requestOf(engineContext: object): EngineRequest {
  const request = (engineContext as WithRequest)[REQUEST];
  if (!request) throw new Error('The engine was run on a request that was not started');
  return request;
}

/** The state of the current request, found by the engine's AsyncLocalStorage; `undefined` outside of its routes. */
export function currentRequest(): EngineRequest | undefined {
  const { ctx } = Provider;
  return (ctx as WithRequest | undefined)?.[REQUEST];
}
