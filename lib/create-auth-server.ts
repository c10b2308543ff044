import Koa from 'koa';
import type { Provider } from 'oidc-provider';

import { createGuard } from './access/guard.ts';
import { createPrincipalLoader } from './access/principal.ts';
import { createRequires } from './access/requires.ts';
import type { AuthServer } from './auth-server.ts';
import type { Pages, User } from './contracts.ts';
import { createClientDirectory } from './engine/client-directory.ts';
import { createClientRegistry } from './engine/client-registry.ts';
import { now } from './engine/clock.ts';
import { engineConfiguration } from './engine/configuration.ts';
import { createInteractionFlow } from './engine/interactions.ts';
import { createKeyMaterial } from './engine/key-material.ts';
import { createKeyRing } from './engine/key-ring.ts';
import { ensureKeys } from './engine/keys.ts';
import { logEvents } from './engine/log.ts';
import { createMount } from './engine/mount.ts';
import { observeRevocations } from './engine/observed-storage.ts';
import { createPresentations } from './engine/presentations.ts';
import { createProvider } from './engine/provider.ts';
import { createRenderError } from './engine/render-error.ts';
import { isRevoked } from './engine/revocation.ts';
import { createRevoke } from './engine/revoke.ts';
import { createUnwrapToken } from './engine/structured-token.ts';
import { createVerifyAccessToken } from './engine/tokens.ts';
import { MigrationsPendingError } from './errors.ts';
import { startMaintenance } from './maintenance.ts';
import { checkPages } from './option-checks.ts';
import { resolveOptions } from './options.ts';
import type { AuthServerOptions } from './options.ts';

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
  const {
    basePath,
    gate,
    issuer,
    keyRotation,
    lifetimes,
    logger,
    mountPath,
    pruneInterval,
    revocationLag,
    scopes,
    trustProxy,
    users,
  } = resolved;
  const pending = await resolved.storage.pendingMigrations();
  if (pending.length > 0) throw new MigrationsPendingError(pending);

  const storage = observeRevocations(resolved.storage, ({ kind, value }) => {
    guard.forget(
      kind === 'grant' ? { grantId: value } : kind === 'client' ? { clientId: value } : { tokenId: value },
    );
  });
  const options = { ...resolved, storage };
  const material = createKeyMaterial(options.keyEncryptionKeys);
  if (options.keyEncryptionKeys.length === 0 && process.env['NODE_ENV'] === 'production') {
    logger.warn(
      { option: 'keyEncryptionKey' },
      'the signing keys are stored unencrypted; give a keyEncryptionKey',
    );
  }
  const cookieKeys =
    options.cookieKeys ?? (await ensureKeys(storage.keys, material, 'cookie')).map(({ jwk }) => jwk.k!);
  const keyRing = await createKeyRing(storage.keys, material, {
    algorithm: options.signingAlgorithm,
    tokenLifetime: lifetimes.accessToken,
    onChange() {
      provider = buildProvider();
      guard.forget();
    },
  });
  const verify = createVerifyAccessToken({
    issuer,
    audience: issuer,
    signing: () => keyRing.signing,
    findKeys: () => keyRing.reload(),
  });

  const directory = createClientDirectory(storage.clients, { maxAge: revocationLag, logger });
  const guard = createGuard<P, U>({
    realm: issuer,
    logger,
    revocationLag,
    verify,
    isRevoked: (claims) => isRevoked(storage.revocations, claims),
    // Not from the directory: what it and the guard remember would add up to twice the lag.
    loadPrincipal: createPrincipalLoader({ users, clients: storage.clients, gate, scopes }),
  });
  const clients = createClientRegistry(storage.clients, { gate, scopes }, (id) => {
    directory.forget(id);
    guard.forget({ clientId: id });
  });

  // The engine takes its signing keys once, so it is made anew when they change; requests under way keep the old one,
  // and both have to know what the other's present.
  const presentations = createPresentations();
  const renderError = createRenderError(() => pages);
  const buildProvider = (): Provider => {
    const configuration = engineConfiguration(options, {
      clients: directory,
      cookieKeys,
      presentations,
      signing: keyRing.signing,
      renderError,
    });
    const built = createProvider(options, configuration, directory);
    logEvents(built, logger);
    return built;
  };
  let provider = buildProvider();

  const flow = createInteractionFlow(options, { clients: directory, provider: () => provider });
  const pages: Pages = checkPages(options.interactions(flow));
  const mount = createMount(options, {
    provider: () => provider,
    pages,
    unwrapToken: createUnwrapToken(verify),
  });

  async function prune(): Promise<number> {
    let total = 0;
    for (;;) {
      const removed = await storage.prune(now(), PRUNE_BATCH);
      total += removed;
      if (removed === 0) return total;
    }
  }

  // Every node has read the new key by then, also one whose clock is some seconds ahead.
  const keyDelay = 2 * revocationLag + 5;
  const stopMaintenance = startMaintenance(
    [
      { name: 'read keys', every: revocationLag, run: () => keyRing.reload() },
      {
        name: 'rotate keys',
        every: Math.min(keyRotation, 3600),
        run: () => keyRing.rotateOlderThan(keyRotation, keyDelay),
      },
      { name: 'prune', every: pruneInterval, run: prune },
    ],
    logger,
  );

  return {
    issuer,
    basePath,
    mountPath,
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
    requires: createRequires<P>({ gate, realm: issuer }),
    revoke: createRevoke(storage, verify, lifetimes.accessToken),
    keys: {
      list: () => keyRing.list(),
      rotate: async ({ after = keyDelay } = {}) => keyRing.rotate(after),
    },
    prune,
    async check() {
      const missing = await storage.pendingMigrations();
      return missing.map((name) => ({
        code: 'migration_pending',
        severity: 'error',
        message: `The migration ${name} has not run.`,
        remedy: 'Run `gatehouse migrate` or `await storage.migrate()`.',
      }));
    },
    async close() {
      await stopMaintenance();
      await storage.close();
    },
    logger,
    get provider() {
      return provider;
    },
  };
}
