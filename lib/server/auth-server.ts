import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

import type { Middleware } from 'koa';
import type { Provider } from 'oidc-provider';

import type { GuardMiddleware } from '../access/guard.ts';
import type { Requires } from '../access/requires.ts';
import type {
  Assignments,
  AuditLog,
  ClientRegistry,
  Duration,
  Finding,
  Gate,
  ObjectsOf,
  Observer,
  PermissionOf,
  Principal,
  RoleOf,
  User,
  UserData,
  UserGrantsRegistry,
} from '../contracts/index.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import type { Feature } from '../features/feature.ts';
import type { IssueTokenOptions } from '../token/issue-token.ts';
import type { SigningKey } from '../keys/stored-keys.ts';
import type { RevocationTarget } from '../token/revoke.ts';
import type { Readiness } from './health.ts';
import type { PruneOptions } from './jobs.ts';
import type { CloseOptions } from './shutdown.ts';

/**
 * An authorization server and the guard of an API, for a Koa app: `AuthServer<typeof gate, Person>`. `A` has the APIs of the option `resources`.
 */
export interface AuthServer<G extends Gate = Gate, U extends User = User, A extends string = string> {
  /** The server's identity and base URL, without a trailing slash. */
  readonly issuer: string;
  /** The registered clients. */
  readonly clients: ClientRegistry<PermissionOf<G>, RoleOf<G>>;
  /** The roles and permissions of users, for a user store without `permissions()` and `roles()`. */
  readonly assignments: Assignments<PermissionOf<G>, RoleOf<G>>;
  /**
   * Events of this node as they occur: `auth.events.on('login_failed', (event) => ...)`, or `'*'` for all of them. The returned
   * function removes the listener.
   */
  readonly events: Pick<AuditLog, 'on'>;
  /**
   * Adds an observer of the requests to the endpoints and the guard, for metrics; `createMetrics()` of `koa-gatehouse/metrics`
   * uses it. The returned function removes the observer.
   *
   * Traces need none: with `@opentelemetry/api` and an SDK there are the spans `gatehouse.token`, `gatehouse.revocation`,
   * `gatehouse.introspection`, `gatehouse.authorization`, `gatehouse.page`, `gatehouse.mcp`,
   * `gatehouse.tool` with `gen_ai.tool.name`, and `gatehouse.guard` for tokens that are not cached, with `http.response.status_code`,
   * `error.type`, `oauth.client_id`, `oauth.grant_type` and `gatehouse.request_id`. Your span of the request gets `http.route`.
   */
  observe(this: void, observer: Observer): () => void;
  /** The stored events of all nodes, for `retention.audit`. */
  readonly audit: Pick<AuditLog, 'list' | 'flush'>;
  /**
   * Returns the middleware that serves the OAuth endpoints and the pages in a Koa app; it calls `next()` for every other
   * request.
   */
  middleware(): Middleware;
  /**
   * Returns a function that serves them, and `health()`, in any Node server: `http.createServer(auth.callback())`, or as middleware of
   * Express and others, `app.use(auth.callback(api.routes()))`.
   *
   * With `next`, a request that nobody answers goes on as it came, and what a given middleware throws goes to `next(error)`.
   *
   * @param served - middleware of Koa behind the server: the routes of an API, an MCP endpoint
   * @throws ConfigError for anything that is not a function
   */
  callback(
    // oxlint-disable-next-line typescript/no-explicit-any -- Koa's types are not needed by a host with another framework
    ...served: readonly ((ctx: any, next: () => Promise<any>) => unknown)[]
  ): (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    next?: (error?: unknown) => unknown,
  ) => void;
  /**
   * Authenticates a request as `guard()` does and, with `permissions`, `requires()`, for routes that are not Koa's. It sends nothing:
   *
   *     const { principal, headers, problem } = await auth.authenticate(request, { permissions: ['view_schools'] });
   *     if (problem) return response.writeHead(problem.status, problem.headers).end(problem.body);
   *
   * @throws ConfigError for options that are wrong, such as a resource that the server does not have; and what the user store throws
   */
  authenticate(
    request: IncomingMessage | Http2ServerRequest,
    options?: {
      /** The API whose tokens are accepted, one of the option `resources`. @default the issuer */
      readonly resource?: A | undefined;
      /** Whether login sessions are accepted, as by `guard()`. @default false */
      readonly session?: boolean | undefined;
      /** What the user or the client has to be permitted. For a permission with a rule, ask `principal.can()`. @default nothing */
      readonly permissions?: readonly Exclude<PermissionOf<G>, keyof ObjectsOf<G>>[] | undefined;
    },
  ): Promise<
    | {
        readonly principal: Principal<PermissionOf<G>, U, ObjectsOf<G>>;
        /** To be set on the response: `Vary` and `Cache-Control` where login sessions are accepted. */
        readonly headers: Readonly<Record<string, string>>;
        readonly problem?: undefined;
      }
    | {
        readonly principal?: undefined;
        readonly headers?: undefined;
        /** The response to send: `body` is a problem document (RFC 9457), as JSON. */
        readonly problem: {
          readonly status: number;
          readonly headers: Readonly<Record<string, string>>;
          readonly body: string;
        };
      }
  >;
  /**
   * Returns the middleware that accepts requests with a valid access token and sets the user or the client on `ctx.state` (RFC
   * 6750). Other requests get 401 with a `WWW-Authenticate` challenge, or 503 when the storage cannot be reached.
   *
   * With `session`, requests without a token are accepted too, if a page of the API's own origin made them (`Sec-Fetch-Site`,
   * `Origin`; else 403) and its user is logged in, at the host (`login.currentUser`) or here: `ctx.state.user` is that user with
   * all permissions, and `ctx.state.principal.client` is undefined. Nothing of a session is cached.
   *
   * @param options.resource - the API whose tokens are accepted, one of the option `resources`. @default the issuer, to which
   * requests without `resource` apply
   * @param options.session - whether login sessions are accepted. @default false
   * @throws ConfigError for a resource that the server does not have
   */
  guard(options?: {
    readonly resource?: A;
    readonly session?: boolean;
  }): GuardMiddleware<PermissionOf<G>, U, ObjectsOf<G>>;
  /** Returns the middleware that accepts callers with all of the given permissions. It runs behind `guard()`. */
  requires: Requires<PermissionOf<G>, U, ObjectsOf<G>>;
  /**
   * Issues an access token from the host's own code, without a login or a request: for a user through a client, such as a
   * first-party app, or for a client itself. The guard accepts it, and it is revoked, like a token of the token endpoint. It is
   * recorded as `token_issued` with the grant type `host`. The host is responsible for the user's consent, which is neither
   * asked for nor stored.
   *
   * @throws ConfigError for a user that the user store does not find, a client that is disabled or of the other grant type, a
   * scope that the client may not request, and a lifetime above `lifetimes.accessToken` of the client or the server
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   * @throws StorageError when the storage cannot be reached; no token was issued
   */
  issueToken(options: IssueTokenOptions): Promise<string>;
  /** What users have let act in their names: apps, personal access tokens and logins, for a settings page of your own. */
  readonly userGrants: UserGrantsRegistry;
  /** What is stored of a user: its export and its erasure. */
  readonly userData: UserData;
  /**
   * Revokes tokens: at once on this node, within `tokens.revocationLag` on the others.
   * @throws ConfigError when the target has none of the known forms
   * @throws StorageError when the storage cannot be reached, or it is not known whether the revocation lasts: repeat the call
   */
  revoke(target: RevocationTarget): Promise<void>;
  /** The keys that sign tokens. */
  readonly signingKeys: {
    /** The signing keys that this node knows, those of access tokens before those of ID tokens, the newest of each first. */
    list(): readonly SigningKey[];
    /**
     * Creates a new key. It is published at once and signs after a delay, by which every node has read it. Tokens that were
     * signed with the previous key stay valid until they expire. A key for cookies that is older than 30 days is replaced too.
     *
     * @param options.after - the delay, at least 30 seconds: verifiers with the defaults of jose fetch the keys no more often for one that
     * they do not know. Left out: 60 seconds, or twice `tokens.revocationLag` plus 5 seconds if that is longer
     * @throws ConfigError for an `after` that is not a duration, or shorter; StorageError when the storage cannot be reached
     */
    rotate(options?: { after?: Duration }): Promise<SigningKey>;
  };
  /**
   * Deletes expired rows, and unused apps that nobody has registered, in small batches with pauses for concurrent
   * requests. Resolves to their number.
   * @throws StorageError when the storage cannot be reached; earlier batches stay deleted
   */
  prune(options?: PruneOptions): Promise<number>;
  /** Checks the storage, keys and clients. Resolves to the problems, errors first; an unreachable storage is one of them. */
  doctor(): Promise<readonly Finding[]>;
  /**
   * Whether this server can handle requests: the storage can be reached and written and is migrated, signing keys exist, and
   * `close()` was not called. Resolves within a second, also when the storage hangs, and caches the result for a second.
   */
  ready(): Promise<Readiness>;
  /**
   * Returns the middleware that serves `GET /livez`, 200 as long as the process responds, and `GET /readyz`, 200 or 503 by
   * `ready()`, for load balancers and orchestrators. `callback()` includes it; in an app of your own mount it first.
   */
  health(): Middleware;
  /**
   * Closes the server: waits for the running requests of the endpoints and the API, while new requests, those at the guard
   * included, get 503 with `Retry-After`. Then writes the pending audit events and last uses, for at most 5 s, and closes the
   * connections that the storage has opened. Every call returns the same promise.
   * @throws ConfigError when the timeout is not a duration
   */
  close(options?: CloseOptions): Promise<void>;
  /** The option `gate`. */
  readonly gate: G;
  /** The scopes that clients may request, by name: those of all APIs. */
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  /** The members that a feature adds to this server, of which it was given the value. @throws ConfigError when it was not */
  featureMembers<Api extends object>(this: void, feature: Feature<Api>): Api;
  /**
   * The current `Provider` of oidc-provider, for functions that this package does not cover. It is replaced when the signing keys change:
   * use the option `onProvider` to configure each new one.
   */
  readonly provider: Provider;
  /** @internal What the API, the tools for agents and the metrics are made on. */
  readonly parts: ServerParts;
}
