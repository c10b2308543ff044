import type { Provider } from 'oidc-provider';

import { createRequires } from '../access/requires.ts';
import { createAuditLog } from '../audit/audit-log.ts';
import { followLastUses } from '../clients/last-use.ts';
import type { AuditOrigin, Pages, User } from '../contracts/index.ts';
import { createConnectedApps } from '../developer/connected-apps.ts';
import { createDeveloperArea } from '../developer/developer-area.ts';
import { runChecks } from '../doctor/run-checks.ts';
import { MigrationsPendingError } from '../errors.ts';
import { createAdmission } from '../http/admission.ts';
import { createKeyMaterial } from '../keys/key-material.ts';
import { createKeyRing } from '../keys/key-ring.ts';
import { ensureKeys } from '../keys/keys.ts';
import { createObservers } from '../observability/observers.ts';
import { createTracing } from '../observability/tracing.ts';
import { auditEvents, noteDenials } from '../oidc/audit.ts';
import { createAuthorizationRequests } from '../oidc/authorization-request.ts';
import { engineConfiguration } from '../oidc/configuration.ts';
import { createInteractionFlow } from '../oidc/interactions.ts';
import { createIssueToken } from '../oidc/issue-token.ts';
import { createMount } from '../oidc/middleware.ts';
import { createProvider } from '../oidc/provider.ts';
import { answerStrangersHere, createRenderError } from '../oidc/render-error.ts';
import { createReport, logLogins } from '../oidc/report.ts';
import { originOf } from '../oidc/request-facts.ts';
import { createUnwrapToken } from '../oidc/token-body.ts';
import { checkDuration } from '../options/checks.ts';
import { resolveOptions } from '../options/resolve.ts';
import type { AuthServerOptions } from '../options/options.ts';
import { checkPages } from '../options/ports.ts';
import { createThrottles } from '../throttle/throttles.ts';
import { observeRevocations } from '../tokens/observed-storage.ts';
import { createRevoke } from '../tokens/revoke.ts';
import { createVerifyAccessToken } from '../tokens/verify-access-token.ts';
import type { AuthServer } from './auth-server.ts';
import { createCallback } from './callback.ts';
import { createAccess } from './create-access.ts';
import { createReadiness, healthEndpoints } from './health.ts';
import { keepInternals } from './internals.ts';
import { choresOf, pruneExpired, RESTS, startMaintenance } from './jobs.ts';
import { createClose } from './shutdown.ts';

/**
 * Makes an authorization server from options.
 *
 *     const auth = await createAuthServer({
 *       issuer: 'https://platform.example',
 *       users,
 *       storage: knexStorage(knex),
 *       interactions: pages(),
 *       gate,
 *     });
 *     app.use(auth.middleware());
 *
 * Migrate the storage first: `storage.migrate()`, or `gatehouse migrate` on the command line.
 *
 * @throws ConfigError when an option is wrong; it names the option and the remedy
 * @throws MigrationsPendingError when the storage has not been migrated
 * @throws StorageError when the storage cannot be reached
 */
export async function createAuthServer<
  P extends string,
  R extends string,
  U extends User,
  S extends object = object,
>(given: AuthServerOptions<P, R, U, S>): Promise<AuthServer<P, R, U, S>> {
  const resolved = resolveOptions(given);
  const {
    auditRetention,
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

  const storage = observeRevocations(resolved.storage, (revoked) => {
    guard.forget(revoked);
    if ('clientId' in revoked) directory.forget(revoked.clientId);
  });
  const options = { ...resolved, storage };
  const admission = createAdmission(options);
  const lastUses = followLastUses(storage);
  const audit = createAuditLog(storage.audit, { logger, retention: auditRetention });
  logLogins(audit, logger);
  const observers = createObservers(logger);
  const trace = createTracing();
  const material = createKeyMaterial(options.keyEncryptionKeys);
  const cookieKeys =
    options.cookieKeys ?? (await ensureKeys(storage.keys, material, 'cookie')).map(({ jwk }) => jwk.k!);
  const throttles = createThrottles(storage.attempts, { ...options, secrets: cookieKeys });
  const keyRing = await createKeyRing(storage.keys, material, {
    algorithm: options.signingAlgorithm,
    tokenLifetime: lifetimes.accessToken,
    audit,
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

  const { assignments, directory, guard, heldByClient, holders, noteUse, registryFor } = createAccess(
    options,
    {
      admission,
      audit,
      lastUses,
      observers,
      trace,
      verify,
    },
  );

  const requests = createAuthorizationRequests(options, cookieKeys);
  // The engine takes its signing keys once, so it is made anew when they change; requests under way keep the old one.
  const renderError = createRenderError(() => pages);
  const buildProvider = (): Provider => {
    const configuration = engineConfiguration(options, {
      clients: directory,
      heldByClient,
      cookieKeys,
      requests,
      signing: keyRing.signing,
      renderError,
    });
    const built = createProvider(options, configuration, directory, throttles.clients);
    noteDenials(built);
    answerStrangersHere(built);
    auditEvents(built, audit, noteUse);
    return built;
  };
  let provider = buildProvider();

  const revokeFor = (origin?: AuditOrigin): ReturnType<typeof createRevoke> =>
    createRevoke(storage, {
      verify,
      audit: origin ? { ...audit, record: (event) => audit.record(event, origin) } : audit,
    });
  const enterDeveloperArea = createDeveloperArea({
    registryFor,
    audit,
    gate,
    scopes,
    users,
    heldBy: async (user) => holders.heldBy(user as U),
    heldByClient,
    revokeFor,
    reservedNames: () => [...(pages.brand === undefined ? [] : [pages.brand]), ...options.reservedNames],
    idempotency: storage.idempotency,
  });
  const connectionsOf = createConnectedApps({ storage, scopes, audit });
  const flow = createInteractionFlow(options, {
    audit,
    browsers: throttles.browsers,
    clients: directory,
    logins: throttles.logins,
    requests,
    provider: () => provider,
    developer: async (ctx, user) => enterDeveloperArea(user, originOf(ctx)),
    connections: (ctx, user) => connectionsOf(user, originOf(ctx)),
  });
  const pages: Pages = checkPages(options.interactions(flow));
  const mount = createMount(options, {
    admission,
    pages,
    provider: () => provider,
    report: createReport(logger, observers),
    throttle: throttles.clients,
    trace,
    unwrapToken: createUnwrapToken(verify),
  });

  // Every node has read the new key by then, also one whose clock is some seconds ahead; and verifiers elsewhere may fetch
  // it when they meet it: jose asks at most every 30 seconds.
  const keyDelay = Math.max(60, 2 * revocationLag + 5);
  const stopMaintenance = startMaintenance(choresOf(options, { keyDelay, keyRing, storage }), logger);

  const ready = createReadiness({ storage, server: admission, logger });
  const health = healthEndpoints(ready);

  const auth: AuthServer<P, R, U, S> = {
    issuer,
    basePath,
    mountPath,
    clients: registryFor(),
    assignments,
    events: audit,
    observe: observers.add,
    audit,
    middleware: () => mount,
    callback: () => createCallback({ health, logger, mount, trustProxy }),
    guard: () => guard,
    requires: createRequires<P>({ gate, realm: issuer, observers }),
    revoke: revokeFor(),
    keys: {
      list: () => keyRing.list(),
      rotate: async ({ after = keyDelay } = {}) => keyRing.rotate(checkDuration('after', after, 0)),
    },
    prune: async (how = {}) => pruneExpired(storage, how, RESTS.ofServer),
    check: async () =>
      runChecks({
        storage,
        gate,
        scopes,
        keys: material,
        cookieKeys: options.cookieKeys,
        keyRotation,
        pruneInterval,
        plainKeysMatter: given.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production',
        issuer: undefined,
      }),
    ready,
    health: () => health,
    close: createClose({ admission, audit, lastUses, logger, stopMaintenance, storage }),
    admission,
    logger,
    gate,
    scopes,
    storage,
    get provider() {
      return provider;
    },
  };
  keepInternals(auth, { issueToken: createIssueToken(options, { provider: () => provider, storage }) });
  return auth;
}
