import type { RequestListener } from 'node:http';

import Koa from 'koa';
import type { Context, Middleware } from 'koa';

import { defineGate } from '../access/gate.ts';
import { createRequires } from '../access/requires.ts';
import { createAuditLog } from '../audit/audit-log.ts';
import { trackLastUses } from '../clients/last-use.ts';
import { createRemoteKeys } from '../clients/remote-keys.ts';
import type { AuditOrigin, Logger, User, VerifyAccessToken } from '../contracts/index.ts';
import { createAuthorizedApps } from '../developer/authorized-apps.ts';
import { createDeveloperArea } from '../developer/developer-area.ts';
import { runChecks } from '../doctor/run-checks.ts';
import { MigrationsPendingError } from '../errors.ts';
import { createConcurrencyLimit, isConnectionError } from '../http/concurrency-limit.ts';
import { createPublicFetch, networkOf } from '../http/public-fetch.ts';
import { setServerParts } from '../http/server-parts.ts';
import { createKeyMaterial, ensureKeys } from '../keys/keys.ts';
import { createKeyRing } from '../keys/key-ring.ts';
import { createObservers } from '../observability/observers.ts';
import { createTracing } from '../observability/tracing.ts';
import { createAuthorizationRequests } from '../oidc/authorization-request.ts';
import { createDeviceFlow } from '../oidc/device-flow.ts';
import { createInteractionFlow } from '../oidc/interactions.ts';
import { createIssueToken } from '../oidc/issue-token.ts';
import { createMount } from '../oidc/middleware.ts';
import { createProvider, Engine } from '../oidc/provider.ts';
import { createReport, logLogins } from '../oidc/report.ts';
import { originOf } from '../oidc/request-facts.ts';
import { createUnwrapToken } from '../oidc/token-body.ts';
import { createUserCodeIds } from '../oidc/user-codes.ts';
import { checkDuration } from '../options/checks.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import { resolveOptions } from '../options/resolve.ts';
import type { AuthServerOptions } from '../options/options.ts';
import { checkPages } from '../options/ports.ts';
import { isSameNetwork } from '../throttle/attempt-ids.ts';
import { createThrottles } from '../throttle/throttles.ts';
import { CacheInvalidation, observeRevocations } from '../tokens/cache-invalidation.ts';
import { createRevoke } from '../tokens/revoke.ts';
import { createVerifyAccessToken } from '../tokens/verify-access-token.ts';
import type { AuthServer } from './auth-server.ts';
import { createAccess } from './create-access.ts';
import { createReadiness, healthEndpoints } from './health.ts';
import { createOnRemoved, PAUSES, pruneExpired, serverJobs, startJobs } from './jobs.ts';
import { createRegistration } from './create-registration.ts';
import { createClose } from './shutdown.ts';

/**
 * Creates an authorization server from options.
 *
 *     const auth = await createAuthServer({
 *       issuer: 'https://platform.example',
 *       users,
 *       storage: knexStorage(knex),
 *     });
 *     app.use(auth.middleware());
 *
 * The storage has to be migrated: before the start by `storage.migrate()` or `gatehouse migrate`, or at start by the option
 * `migrate`.
 *
 * @throws ConfigError when an option is wrong; it names the option and the remedy
 * @throws MigrationsPendingError when migrations are pending and `migrate` is not set
 * @throws StorageError when the storage cannot be reached
 */
export async function createAuthServer<
  P extends string = never,
  R extends string = never,
  U extends User = User,
  S extends object = object,
  A extends string = string,
>(given: AuthServerOptions<P, R, U, S, A>): Promise<AuthServer<P, R, U, S, A>> {
  const resolved = resolveOptions(given, defineGate<P, R>({ permissions: {} as Record<P, string> }));
  const pending = await resolved.storage.pendingMigrations();
  if (pending.length > 0) {
    if (!resolved.migrate) throw new MigrationsPendingError(pending);
    await resolved.storage.migrate();
  }
  const invalidation = new CacheInvalidation(resolved.storage.changes);
  const storage = observeRevocations(resolved.storage, invalidation.announce);
  const options = { ...resolved, storage };
  const { gate, issuer, logger, resources, revocationLag, scopes, users } = options;

  // The concurrency limit, the audit log, metrics and traces.
  const concurrencyLimit = createConcurrencyLimit(options);
  const audit = createAuditLog(storage.audit, { logger, retention: options.auditRetention });
  logLogins(audit, logger);
  const observers = createObservers(logger);
  const trace = createTracing();

  // Keys.
  const material = createKeyMaterial(options.keyEncryptionKeys);
  const cookieKeys =
    options.cookieKeys ?? (await ensureKeys(storage.keys, material, 'cookie')).map(({ jwk }) => jwk.k!);
  const keyRing = await createKeyRing(storage.keys, material, {
    algorithm: options.signingAlgorithm,
    tokenLifetime: options.lifetimes.accessToken,
    audit,
  });
  const throttles = createThrottles(storage.attempts, { ...options, observers, secrets: cookieKeys });

  // Tokens, clients and access.
  const verifyFor = (audience: string | string[]): VerifyAccessToken =>
    createVerifyAccessToken({
      issuer,
      audience,
      signing: () => keyRing.signing,
      findKeys: () => keyRing.reload(),
    });
  const verify = verifyFor(resources.size > 1 ? [...resources.keys()] : issuer);
  const lastUses = trackLastUses(storage);
  const reservedNames = new Set(options.reservedNames);
  // Documents whose URL a developer or a stranger chose.
  const publicFetch = createPublicFetch(networkOf(given));
  const { assignments, directory, guardFor, clientPermissions, userAssignments, recordUse, registryFor } =
    createAccess(options, {
      concurrencyLimit,
      audit,
      invalidation,
      lastUses,
      observers,
      publicFetch,
      reservedNames,
      trace,
      verifyFor,
    });
  await invalidation.subscribe();
  const revokeFor = (origin?: AuditOrigin): ReturnType<typeof createRevoke> =>
    createRevoke(storage, {
      verify,
      invalidate: invalidation.notify,
      audit: origin ? { ...audit, record: (event) => audit.record(event, origin) } : audit,
    });

  const remoteKeys = options.privateKeyJwt ? createRemoteKeys(publicFetch, logger) : undefined;

  // The engine and the pages call each other, so the engine is started after the pages have been created.
  const engine = new Engine();
  const requests = createAuthorizationRequests(options, cookieKeys);
  const developerAreaFor = createDeveloperArea({
    registryFor,
    audit,
    gate,
    scopes,
    users,
    assignmentOf: async (user) => userAssignments.of(user as U),
    clientPermissions,
    revokeFor,
    reservedNames,
    idempotency: storage.idempotency,
    privateKeyJwt: options.privateKeyJwt,
  });
  const authorizedAppsFor = createAuthorizedApps({ storage, issuer, resources, audit });
  const userCodeIds = createUserCodeIds(cookieKeys);
  const deviceFlow = createDeviceFlow(options, {
    audit,
    isSameNetwork,
    provider: engine.provider,
    userCodeIds,
    userCodes: throttles.userCodes,
  });
  const flow = createInteractionFlow(options, {
    audit,
    browsers: throttles.browsers,
    clients: directory,
    devices: options.deviceAuthorization && deviceFlow,
    logins: throttles.logins,
    requests,
    provider: engine.provider,
    developer: async (ctx, user) => developerAreaFor(user, originOf(ctx)),
    authorizedApps: (ctx, user) => authorizedAppsFor(user, originOf(ctx)),
  });
  // Imported on demand, so that a server with pages of its own loads neither EJS nor the bundled views.
  const makePages = options.interactions ?? (await import('koa-gatehouse/interactions')).pages();
  const pages = checkPages(makePages(flow));
  if (pages.brand !== undefined) reservedNames.add(pages.brand);
  engine.start(() =>
    createProvider(options, {
      audit,
      clients: directory,
      cookieKeys,
      clientPermissions,
      devices: { deviceRequests: throttles.deviceRequests, userCodeIds },
      keys: keyRing,
      recordUse,
      pages,
      remoteKeys,
      requests,
      throttle: throttles.clients,
    }),
  );
  keyRing.onChange(() => {
    engine.restart();
    invalidation.notify();
  });

  const mount = createMount(options, {
    concurrencyLimit,
    invalidate: invalidation.notify,
    pages,
    provider: engine.provider,
    registration: createRegistration(options, {
      audit,
      registryFor,
      reservedNames,
      throttle: throttles.registrations,
    }),
    report: createReport(logger, observers),
    throttle: throttles.clients,
    trace,
    unwrapToken: createUnwrapToken(verify),
  });

  // A new key signs after this delay. By then every node has read it, also one whose clock is some seconds ahead, and verifiers
  // elsewhere can fetch it when they first see it: jose fetches a JWK Set at most every 30 seconds.
  const keyDelay = Math.max(60, 2 * revocationLag + 5);
  const onRemoved = createOnRemoved(audit, (clientId) => invalidation.announce({ clientId }));
  const pruned = { storage, onRemoved };
  const stopJobs = startJobs(serverJobs(options, { keyDelay, keyRing, pruned }), logger);

  const ready = createReadiness({ storage, server: concurrencyLimit, logger });
  const health = healthEndpoints(ready);

  const auth: AuthServer<P, R, U, S, A> = {
    issuer,
    clients: registryFor(),
    assignments,
    events: audit,
    observe: observers.add,
    audit,
    middleware: () => mount,
    callback: () => createCallback({ health, logger, mount, trustProxy: options.trustProxy }),
    guard: (guarded = {}) => guardFor(checkKnownOptions(guarded, { resource: true }, 'guard()').resource),
    requires: createRequires<P>({ gate, realm: issuer, observers }),
    issueToken: createIssueToken(options, { audit, clients: directory, provider: engine.provider, storage }),
    revoke: revokeFor(),
    keys: {
      list: () => keyRing.list(),
      rotate: async ({ after = keyDelay } = {}) => keyRing.rotate(checkDuration('after', after, 0)),
    },
    prune: async (pruning = {}) => pruneExpired(pruned, pruning, PAUSES.server),
    check: async () =>
      runChecks({
        storage,
        gate,
        scopes,
        keys: material,
        cookieKeys: options.cookieKeys,
        keyRotation: options.keyRotation,
        pruneInterval: options.pruneInterval,
        reportPlainKeys: given.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production',
        issuer: undefined,
      }),
    ready,
    health: () => health,
    close: createClose({ concurrencyLimit, audit, invalidation, lastUses, logger, stopJobs, storage }),
    gate,
    scopes,
    get provider() {
      return engine.provider();
    },
  };
  setServerParts(auth, {
    audit,
    concurrencyLimit,
    logger,
    mountPath: options.mountPath,
    requestCounter: throttles.requests,
    resources,
    storage,
  });
  return auth;
}

/** Creates the request listener that serves an authorization server in a Koa app of its own. */
function createCallback({
  health,
  logger,
  mount,
  trustProxy,
}: {
  readonly health: Middleware;
  readonly mount: Middleware;
  readonly logger: Logger;
  readonly trustProxy: boolean;
}): RequestListener {
  // The proxy appends one address to `X-Forwarded-For`. The client can have sent the ones before it, so only the last is used.
  const app = new Koa({ proxy: trustProxy, maxIpsCount: 1 });
  app.on('error', (error: Error & { expose?: boolean }, ctx?: Context) => {
    if (!error.expose && !isConnectionError(error, ctx)) logger.error({ err: error }, 'request failed');
  });
  const handle = app.use(health).use(mount).callback();
  return (request, response) => void handle(request, response);
}
