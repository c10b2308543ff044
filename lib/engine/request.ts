import type { Context, Middleware } from 'koa';
import type { AdapterPayload, KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { KeySet } from '../clients/remote-keys.ts';
import type {
  AccessTokenClaims,
  FoundCredential,
  FoundSession,
  GrantPrerequisites,
  Milliseconds,
  ClientSecret,
  StoredClient,
  User,
  WorkSpan,
} from '../contracts/index.ts';
import { attachedRequest, attachRequest } from '../http/request.ts';
import type { HttpRequest } from '../http/request.ts';
import type { ResolvedResource } from '../options/resolved-options.ts';
import type { EndpointRule } from './endpoints.ts';

/**
 * What is known of one request to an endpoint: each fact is written where it is found, and read from here afterwards. The engine calls the
 * adapter once for each row and calls its hooks separately, so that several rows can be written in one transaction and no row is read twice.
 */
export interface EngineRequest extends HttpRequest {
  readonly endpoint: EndpointRule;
  /** The value of `performance.now()` when the request began. */
  readonly startedAt: Milliseconds;
  /** The trace of the request. `undefined`: it is not traced. */
  span?: WorkSpan | undefined;
  /** The engine that runs it. */
  engine?: RunningEngine;
  /** The engine's context, once the engine runs. */
  engineContext?: Context;
  /** What the engine knows of the request, once it has found its path among its own. */
  oidc?: KoaContextWithOIDC['oidc'];

  /**
   * What the client has sent of an authorization, before the engine changes it: in the URL, in a form, or before, as the `reference` says. A
   * parameter that was sent several times is a list.
   */
  parameters?: Readonly<Record<string, string | string[] | undefined>>;
  /** What an authorization request is known by that was sent before: it goes on by this after a login and a consent. */
  reference?: string | undefined;
  /** The proof, in the URL of an authorization request, that its user has just answered it. */
  proof?: string | undefined;
  /** The first `client_id` that the engine looked up; the client may not exist. */
  clientId?: string | undefined;
  /** The row of the client that was read last. For the engine a disabled client does not exist. */
  client?: StoredClient | undefined;
  /** `StoredClient.sequence` when the client was first found. */
  clientSequence?: number | undefined;
  /** The client that the credential of the request's grant authenticates, see `GrantType.clientOf`. */
  clientOfGrant?: string | undefined;
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
  /** What the code of the request spends, see `GrantPrerequisites`. */
  spends?: GrantPrerequisites['spends'];
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
   * The session, the consent or the row that the code of the authorization depends on ended during the request. The browser is redirected
   * to send the request again, and that one is logged and recorded instead.
   */
  mustRestart?: boolean;
  /** The grant that this request revoked: its client revoked it, or presented a spent code or refresh token. */
  revokedGrantId?: string | undefined;
  /** A page was rendered on the host's context: an error, or a form that posts the response. */
  hasPage?: boolean;
  /** The user has denied this authorization request on its page. */
  isDenied?: boolean;
}

/** An engine, and what runs requests with it. Another one takes its place when the signing keys change. */
export interface RunningEngine {
  readonly provider: Provider;
  /** All middleware of the engine, also that of the host. */
  readonly run: Middleware;
  /** By the value of `grant_type`. */
  readonly grants: ReadonlyMap<string, KnownGrant>;
  /** The client of a token request that its grant authenticates, see `GrantType.clientOf`. `undefined`: no grant does that. */
  readonly clientOf: ((parameters: URLSearchParams) => string | undefined) | undefined;
}

/** What is said of the requests of a grant type. */
export interface KnownGrant {
  /** The value of `grant_type`. */
  readonly name: string;
  /** The errors that say that the client has to ask again. They are no refusals. */
  readonly pending?: readonly string[];
}

/** The OAuth error that a request was refused with. */
export interface OAuthError {
  /** The OAuth error code that the client gets, such as `invalid_grant`. */
  readonly error: string;
  /** The reason for the log and the audit record, in more detail than the response gives. */
  readonly reason: string;
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

/** Begins a request to an endpoint. The pages, which get the host's context only, find it by that. */
export function startRequest(host: Context, endpoint: EndpointRule): EngineRequest {
  const request: EngineRequest = { host, endpoint, startedAt: performance.now() };
  attachRequest(host, request);
  return request;
}

/**
 * The request of the engine's context, for the hooks of the engine that get only this.
 *
 * @throws Error when there is none
 */
export function engineRequestOf(engineContext: object): EngineRequest {
  const request = attachedRequest(engineContext);
  if (!request) throw new Error('The engine was run on a request that was not started');
  return request as EngineRequest;
}
