import type { IncomingMessage, ServerResponse } from 'node:http';

import Koa from 'koa';
import type { Middleware } from 'koa';
import type { Provider } from 'oidc-provider';

import { createGuard } from './access/guard.ts';
import { createPrincipalLoader } from './access/principal.ts';
import { createRequires } from './access/requires.ts';
import type { Requires } from './access/requires.ts';
import type { Finding, GuardedState, Logger, Pages, User } from './contracts.ts';
import { createClientDirectory } from './engine/client-directory.ts';
import { createClientRegistry } from './engine/client-registry.ts';
import type { ClientRegistry } from './engine/client-registry.ts';
import { now } from './engine/clock.ts';
import { engineConfiguration } from './engine/configuration.ts';
import { createInteractionFlow } from './engine/interactions.ts';
import { loadKeys } from './engine/keys.ts';
import { logEvents } from './engine/log.ts';
import { createMount } from './engine/mount.ts';
import { observeRevocations } from './engine/observed-storage.ts';
import { createProvider } from './engine/provider.ts';
import { createRenderError } from './engine/render-error.ts';
import { isRevoked } from './engine/revocation.ts';
import { createRevoke } from './engine/revoke.ts';
import type { RevocationTarget } from './engine/revoke.ts';
import { createUnwrapToken } from './engine/structured-token.ts';
import { createVerifyAccessToken } from './engine/tokens.ts';
import { MigrationsPendingError } from './errors.ts';
import { resolveOptions } from './options.ts';
import type { AuthServerOptions } from './options.ts';

/** An authorization server and the gate of an API, ready to be mounted. */
export interface AuthServer<P extends string = string, R extends string = string, U extends User = User> {
  /** The server's identity and base URL, without a trailing slash. */
  readonly issuer: string;
  /** The issuer's path, in front of all of the server's own: `''` or such as `/auth`. */
  readonly basePath: string;
  /** The registered clients. */
  readonly clients: ClientRegistry<P, R>;
  /** Serves the OAuth endpoints and the pages in a Koa app; every other request goes on to the app. */
  middleware(): Middleware;
  /** Serves them without a Koa app of your own: `http.createServer(auth.callback())`. */
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  /** Lets requests with a good access token through, and puts the user or the client on `ctx.state` (RFC 6750). */
  guard(): Middleware<GuardedState<P, U>>;
  /** Lets callers through who hold all of the given permissions. Goes behind `guard()`. */
  readonly requires: Requires<P, U>;
  /**
   * Revokes tokens: at once on this node, within `revocationLag` on the others.
   * @throws StorageError when the storage cannot be reached; then nothing was revoked
   */
  revoke(target: RevocationTarget): Promise<void>;
  /** Removes what has expired, in small batches. Resolves to the number of rows removed. */
  prune(): Promise<number>;
  /** What an operator should look at; empty when all is well. */
  check(): Promise<readonly Finding[]>;
  /** Releases what the storage opened. */
  close(): Promise<void>;
  /** Where the server writes; the API router writes there too. */
  readonly logger: Logger;
  /** The engine, for what this package does not cover. */
  readonly provider: Provider;
}

// Small enough that one batch never holds a lock for long.
const PRUNE_BATCH = 500;

/**
 * Makes an authorization server from options.
 *
 * @throws ConfigError when an option is wrong; it names the option and the remedy
 * @throws MigrationsPendingError when the storage has not been migrated
 * @throws StorageError when the storage cannot be reached
 */
export async function createAuthServer<P extends string, R extends string, U extends User>(
  given: AuthServerOptions<P, R, U>,
): Promise<AuthServer<P, R, U>> {
  const resolved = resolveOptions(given);
  const { basePath, gate, issuer, lifetimes, logger, revocationLag, scopes, trustProxy, users } = resolved;
  const pending = await resolved.storage.pendingMigrations();
  if (pending.length > 0) throw new MigrationsPendingError(pending);

  const storage = observeRevocations(resolved.storage, ({ kind, value }) => {
    guard.forget(
      kind === 'grant' ? { grantId: value } : kind === 'client' ? { clientId: value } : { tokenId: value },
    );
  });
  const options = { ...resolved, storage };
  const keys = await loadKeys(storage.keys, {
    algorithm: options.signingAlgorithm,
    cookieKeys: options.cookieKeys,
  });
  const verify = createVerifyAccessToken({ issuer, audience: issuer, signing: keys.signing });

  const directory = createClientDirectory(storage.clients, { maxAge: revocationLag, logger });
  const guard = createGuard<P, U>({
    realm: issuer,
    logger,
    revocationLag,
    verify,
    isRevoked: (claims) => isRevoked(storage.revocations, claims),
    loadPrincipal: createPrincipalLoader({ users, clients: directory, gate, scopes }),
  });
  const clients = createClientRegistry(storage.clients, { gate, scopes }, (id) => {
    directory.forget(id);
    guard.forget({ clientId: id });
  });

  const renderError = createRenderError(() => pages);
  const provider = createProvider(
    options,
    engineConfiguration(options, { clients: directory, keys, renderError }),
    directory,
  );
  logEvents(provider, logger);
  const flow = createInteractionFlow(options, { clients: directory, provider: () => provider });
  const pages: Pages = options.interactions(flow);
  const mount = createMount(options, {
    provider: () => provider,
    pages,
    unwrapToken: createUnwrapToken(() => verify),
  });

  return {
    issuer,
    basePath,
    clients,
    middleware: () => mount,
    callback() {
      const app = new Koa({ proxy: trustProxy });
      app.on('error', (error: Error & { expose?: boolean }) => {
        if (!error.expose) logger.error({ err: error }, 'request failed');
      });
      const handle = app.use(mount).callback();
      return (request, response) => void handle(request, response);
    },
    guard: () => guard,
    requires: createRequires<P, U>({ gate, realm: issuer }),
    revoke: createRevoke(storage, () => verify, lifetimes.accessToken),
    async prune() {
      let total = 0;
      for (;;) {
        const removed = await storage.prune(now(), PRUNE_BATCH);
        total += removed;
        if (removed === 0) return total;
      }
    },
    async check() {
      const missing = await storage.pendingMigrations();
      return missing.map((name) => ({
        code: 'migration_pending',
        severity: 'error',
        message: `The migration ${name} has not run.`,
        remedy: 'Run `gatehouse migrate` or `await storage.migrate()`.',
      }));
    },
    close: () => storage.close(),
    logger,
    provider,
  };
}
