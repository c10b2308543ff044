import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Middleware } from 'koa';
import type { Provider } from 'oidc-provider';

import type { GuardMiddleware } from '../access/guard.ts';
import type { Requires } from '../access/requires.ts';
import type {
  Assignments,
  AuditLog,
  ClientRegistry,
  Finding,
  Gate,
  Observer,
  User,
} from '../contracts/index.ts';
import type { Duration } from '../contracts/duration.ts';
import type { IssueTokenOptions } from '../oidc/issue-token.ts';
import type { SigningKey } from '../keys/key-ring.ts';
import type { RevocationTarget } from '../tokens/revoke.ts';
import type { Readiness } from './health.ts';
import type { PruneOptions } from './jobs.ts';
import type { CloseOptions } from './shutdown.ts';

/** An authorization server and the gate of an API, ready to be mounted. */
export interface AuthServer<
  P extends string = string,
  R extends string = string,
  U extends User = User,
  S extends object = object,
> {
  /** The server's identity and base URL, without a trailing slash. */
  readonly issuer: string;
  /** The registered clients. */
  readonly clients: ClientRegistry<P, R>;
  /** The roles and permissions of users, for a user store that keeps neither. */
  readonly assignments: Assignments<P, R>;
  /**
   * What happens on this node, as it happens: `auth.events.on('login_failed', (event) => ...)`, or `'*'` for all. The
   * function that comes back stops it.
   */
  readonly events: Pick<AuditLog, 'on'>;
  /**
   * Tells of each request to the endpoints and the guard, for figures; `createMetrics()` of `koa-gatehouse/metrics` is
   * made with it. The function that comes back stops it.
   */
  observe(this: void, observer: Observer): () => void;
  /** What happened on every node and was kept, for `auditRetention`. */
  readonly audit: Pick<AuditLog, 'list' | 'flush'>;
  /** Serves the OAuth endpoints and the pages in a Koa app; every other request goes on to the app. */
  middleware(): Middleware;
  /** Serves them without a Koa app of your own: `http.createServer(auth.callback())`. */
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Lets requests with a good access token through, and puts the user or the client on `ctx.state` (RFC 6750). Others are
   * answered with 401 and a challenge, or with 503 when the storage cannot be reached.
   */
  guard(): GuardMiddleware<P, U, S>;
  /** Lets callers through who hold all of the given permissions. Goes behind `guard()`. */
  requires: Requires<P>;
  /**
   * Issues an access token from the host's own code, without a login or a request: for a user through a client, such as a
   * first-party app, or for a client itself. The guard takes it as one of the token endpoint, and the same revokes it. It is recorded as
   * `token_issued` with the grant type `host`. The caller decides whether the user agrees: consent is neither asked for nor kept.
   *
   * @throws ConfigError for a user whom the user store does not find, a client that is disabled or of the other grant type, a scope
   * that the client may not ask for, and a lifetime above `lifetimes.accessToken` of the client or the server
   * @throws ClientNotFoundError when there is no such client
   * @throws StorageError when the storage cannot be reached; then no token is good
   */
  issueToken(options: IssueTokenOptions): Promise<string>;
  /**
   * Revokes tokens: at once on this node, within `revocationLag` on the others.
   * @throws ConfigError when the target is not one of those that there are
   * @throws StorageError when the storage cannot be reached; then nothing was revoked
   */
  revoke(target: RevocationTarget): Promise<void>;
  /** The keys that sign access tokens. */
  readonly keys: {
    /** The signing keys as this node knows them: newest first. */
    list(): readonly SigningKey[];
    /**
     * Makes a new key, published at once, that signs after some seconds, by when every node knows it. Tokens of the
     * key before it stay good until they expire.
     *
     * @param options.after - left out: a minute, or twice `revocationLag` and 5 seconds if that is more
     * @throws ConfigError for an `after` that is no duration; StorageError when the storage cannot be reached
     */
    rotate(options?: { after?: Duration }): Promise<SigningKey>;
  };
  /**
   * Removes what has expired, in small batches with rests in between so that requests get through. Resolves to the number of
   * rows removed.
   * @throws StorageError when the storage cannot be reached; what was removed before stays removed
   */
  prune(options?: PruneOptions): Promise<number>;
  /** What an operator should look at, errors first; empty when all is well. A storage that is not there is one of them. */
  check(): Promise<readonly Finding[]>;
  /**
   * Whether this server can serve: the storage can be reached and is migrated, the signing keys are there, and `close()`
   * was not called. Answers within a second, also when the storage hangs, and remembers the answer for a second.
   */
  ready(): Promise<Readiness>;
  /**
   * Serves `GET /livez`, 200 as long as the process answers, and `GET /readyz`, 200 or 503 by `ready()`, for load
   * balancers and orchestrators. `callback()` has them; in an app of your own mount it first.
   */
  health(): Middleware;
  /**
   * Lets the requests end that are running here and in the API, and answers later ones, those at the guard included,
   * with 503 and `Retry-After`. Then writes what is still to be kept, for at most 5 s, and releases what the storage
   * opened. Every call gives the same promise.
   * @throws ConfigError when the timeout is no duration
   */
  close(options?: CloseOptions): Promise<void>;
  /** Who may do what, as it was given. */
  readonly gate: Gate<P, R, S>;
  /** What clients may ask for, by name. */
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  /**
   * The engine as it is now, for what this package does not cover. It is another one when the signing keys have changed: what is
   * to be done to each of them goes into the option `engine`.
   */
  readonly provider: Provider;
}
