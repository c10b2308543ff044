import type { Context } from 'koa';
import { Provider } from 'oidc-provider';
import type { AdapterPayload, KoaContextWithOIDC } from 'oidc-provider';

import { secondsSince } from '../contracts/clock.ts';
import type { KeySet } from '../clients/remote-keys.ts';
import type {
  AccessTokenClaims,
  FoundCredential,
  FoundSession,
  Milliseconds,
  RequestOutcome,
  ClientSecret,
  StoredClient,
  User,
} from '../contracts/index.ts';
import { requestIdOf } from '../http/request-id.ts';
import { isUnavailable } from '../http/unavailable.ts';
import type { ResolvedResource } from '../options/resolved-options.ts';
import type { EndpointRule } from './endpoints.ts';
import { isGrantType, isPending } from './grant-types.ts';

/**
 * What is known of one request: each fact is written where it is found, and read from here afterwards. The engine calls the adapter
 * once for each row and calls its hooks separately, so that several rows can be written in one transaction and no row is read twice.
 */
export interface EngineRequest {
  /** The host's context of the same request. */
  readonly host: Context;
  readonly endpoint: EndpointRule;
  /** The value of `performance.now()` when the request was handed to the engine. */
  readonly startedAt: Milliseconds;

  /** What an authorization request says, before the engine changes it. A parameter that was sent several times is a list. */
  parameters?: Readonly<Record<string, string | string[] | undefined>>;
  /** The first `client_id` that the engine looked up; the client may not exist. */
  clientId?: string | undefined;
  /** The row of the client that was read last. For the engine a disabled client does not exist. */
  client?: StoredClient | undefined;
  /** `StoredClient.sequence` when the client was first found. */
  clientSequence?: number | undefined;
  /** The secret that the client has presented, and that has expired. */
  expiredSecret?: ClientSecret | undefined;
  /** The client assertion of an existing client. */
  assertion?: PresentedAssertion | undefined;

  /** The credential that the request presents. */
  credential?: PresentedCredential | undefined;
  /** The verified claims of the access token that the request introspects or revokes. */
  accessTokenClaims?: AccessTokenClaims | undefined;
  /** The active token of another form that the request introspects. */
  introspected?: (AdapterPayload & { readonly jti: string }) | undefined;
  /** The request names no scope and the client is registered for none, so its tokens are valid for no scope. */
  isLimitedToNoScope?: boolean;
  /** The request names the scope `offline_access`, which is in none of the engine's parameters. */
  hasOfflineAccess?: boolean | undefined;
  /** The login session of the browser, which a code depends on. Absent: no user is logged in on it. */
  session?: FoundSession | undefined;
  /** The consent that a code depends on. Absent: the client needs none, or the user has not given it yet. */
  consent?: FoundSession['consent'];

  /** The credential was spent before, and led to the current refresh token of its family; by how many generations. */
  reused?: { readonly generations: number } | undefined;
  /** What the access token of the response says. */
  issued?: IssuedToken | undefined;
  /** The OAuth error of the engine or of this server; the last one counts. */
  refused?: OAuthError | undefined;
  /** A failure of the server. */
  failure?: unknown;
  /**
   * The session or the consent of the authorization ended during the request. The browser is redirected to send the request
   * again, and that one is logged and recorded instead.
   */
  mustRestart?: boolean;
  /** The grant that this request revoked: its client revoked it, or presented a spent code or refresh token. */
  revokedGrantId?: string | undefined;
  /** A page was rendered on the host's context: an error, or a form that posts the response. */
  hasPage?: boolean;
  /** The user has denied this authorization request on its page. */
  isDenied?: boolean;
}

/** The OAuth error that a request was refused with. */
export interface OAuthError {
  /** The OAuth error code that the client gets, such as `invalid_grant`. */
  readonly error: string;
  /** The reason for the log and the audit record, in more detail than the response gives. */
  readonly reason: string;
}

/** The OAuth error code of a response to a failure of the server. */
export function errorOfFailure(failure: unknown): 'temporarily_unavailable' | 'server_error' {
  return isUnavailable(failure) ? 'temporarily_unavailable' : 'server_error';
}

/** The id of the client when it is disabled. */
export function disabledClientId({ client }: EngineRequest): string | undefined {
  return client?.client.disabled ? client.client.id : undefined;
}

/** What the access token of the response speaks for. */
export interface IssuedToken {
  readonly api: Pick<ResolvedResource, 'resource'>;
  /** The grant of a user's token. `undefined`: a token of the client for itself. */
  readonly grant: { readonly id: string; readonly user: User } | undefined;
}

/** A credential that a request presents in order to redeem, revoke or introspect it. */
export interface PresentedCredential extends FoundCredential {
  /** The value that the client sent. */
  readonly value: string;
  /** The API that it was granted for. */
  readonly resource: string | undefined;
  /** Empty: none was granted. */
  readonly scopes: readonly string[];
  /** The server that has issued it. Left out: this one. */
  readonly server?: string;
}

/**
 * Finds a refresh token that another server has issued, and stores its grant where that is not done yet: one of all requests on all nodes
 * does. `undefined`: it has not the form of one.
 *
 * @throws InvalidGrant of the engine when it is not valid
 * @throws TooManyAttempts when too many are wrong, or too many requests wait for it
 */
export type FindForeignRefreshToken = (
  value: string,
  by: {
    /** The client that presents it. `undefined`: the host does. */
    readonly clientId: string | undefined;
    /** Whether it is exchanged or revoked next, so that the other server must not accept it any more. */
    readonly isClaim: boolean;
    /** Counts values that nobody has issued. `undefined`: there is no limit. */
    readonly limit: { check(): void; failed(): Promise<void> } | undefined;
  },
) => Promise<PresentedCredential | undefined>;

/** What is known of a client assertion (RFC 7523) and its client. */
export interface PresentedAssertion {
  /** The keys to verify it with. `undefined`: there are none, for the reason in `problem`. */
  readonly keys: KeySet | undefined;
  readonly problem: string | undefined;
  /** Whether its signature was verified, and it was used before. */
  readonly isReplayed: boolean;
}

// A property of the context: a map with all requests cost more time per request than most of its steps.
const REQUEST = Symbol('gatehouse.request');

interface WithRequest {
  [REQUEST]?: EngineRequest;
}

/** Attaches a new request state to the engine's context. */
export function startRequest(engineContext: object, host: Context, endpoint: EndpointRule): EngineRequest {
  const request: EngineRequest = { host, endpoint, startedAt: performance.now() };
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

/*
 * The facts of a request that may appear in logs and audit records. Parameters contain secrets, codes and tokens, sometimes in
 * the wrong field, so a parameter's value is used only when this server or the stored client knows it.
 */

/** The id of the existing client that the request names; it may be disabled. */
export function clientIdOf(ctx: KoaContextWithOIDC): string | undefined {
  return ctx.oidc.client?.clientId ?? disabledClientId(requestOf(ctx));
}

/**
 * The grant type of the request, when the server or the stored client knows it; any other value is the caller's text.
 */
export function grantTypeOf(ctx: KoaContextWithOIDC): string | undefined {
  const { client, params } = ctx.oidc;
  const grantType = params?.['grant_type'];
  if (typeof grantType !== 'string') return undefined;
  return isGrantType(ctx, grantType) || client?.grantTypeAllowed(grantType) ? grantType : undefined;
}

/** The grant of the code or refresh token that a client presented; `undefined` when it belongs to another client. */
export function grantOf(ctx: KoaContextWithOIDC): { id: string; userId: string } | undefined {
  const grant = requestOf(ctx).credential?.grant;
  return grant?.clientId === ctx.oidc.client?.clientId ? grant : undefined;
}

/** The grant type that a request asks for, of those of this server. */
export function requestedGrantType(ctx: KoaContextWithOIDC): string | undefined {
  const { grantType: ofEndpoint } = requestOf(ctx).endpoint;
  if (!ofEndpoint?.isSent) return ofEndpoint?.name;
  const grantType = ctx.oidc.params?.['grant_type'];
  return typeof grantType === 'string' && isGrantType(ctx, grantType) ? grantType : undefined;
}

/**
 * The outcome of a request whose response is complete, or at which the engine threw.
 *
 * @param engineContext - the engine's context, with the response
 */
export function outcomeOf(engineContext: Context, request: EngineRequest): RequestOutcome {
  const { clientId, endpoint, failure, host, mustRestart, refused, revokedGrantId, startedAt } = request;
  // The engine sets `oidc`; a request that was answered before it ran has none.
  const oidcContext = 'oidc' in engineContext ? (engineContext as unknown as KoaContextWithOIDC) : undefined;
  // The browser sends a request that must restart again.
  const oauthError = mustRestart ? undefined : refused;
  return {
    endpoint: isPreflight(engineContext) || !endpoint.isLogged ? undefined : endpoint,
    answer: {
      requestId: requestIdOf(host),
      clientId: oidcContext ? clientIdOf(oidcContext) : clientId,
      grantType: oidcContext && grantTypeOf(oidcContext),
      status: engineContext.status,
      error: failure === undefined ? oauthError?.error : errorOfFailure(failure),
      seconds: secondsSince(startedAt),
    },
    isPending:
      oidcContext !== undefined && oauthError !== undefined && isPending(oidcContext, oauthError.error),
    reason: oauthError?.reason,
    failure,
    revokedGrantId,
  };
}

/** The outcome of a request that was refused before it began. */
export function refusedOutcome(
  ctx: Context,
  endpoint: EndpointRule,
  { error, reason, status }: OAuthError & { readonly status: number },
): RequestOutcome {
  return {
    endpoint: isPreflight(ctx) || !endpoint.isLogged ? undefined : endpoint,
    answer: {
      requestId: requestIdOf(ctx),
      clientId: undefined,
      grantType: undefined,
      status,
      error,
      seconds: 0,
    },
    reason,
    failure: undefined,
    revokedGrantId: undefined,
  };
}

/** Whether it is a CORS preflight. One that does not fail is neither logged nor observed. */
function isPreflight({ method }: Context): boolean {
  return method === 'OPTIONS';
}
