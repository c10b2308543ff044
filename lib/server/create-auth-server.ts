import type { RequestListener } from 'node:http';

import Koa from 'koa';
import type { Context, Middleware } from 'koa';

import { defineGate } from '../access/gate.ts';
import { createUserAssignments } from '../access/principal.ts';
import { createRequires } from '../access/requires.ts';
import type { User } from '../contracts/index.ts';
import { INTERNALS } from '../contracts/internals.ts';
import { sessionCookie } from '../engine/cookie-keys.ts';
import { beginStackAt } from '../errors.ts';
import type { Added } from '../features/feature.ts';
import type { AnyFeature } from '../options/features.ts';
import {
  clientFieldsOf,
  clientKindsOf,
  clientSourcesOf,
  eventRulesOf,
  examinationsOf,
  featuresOf,
  prunesOf,
  storedEventRulesOf,
} from '../features/known.ts';
import { createPublicFetch } from '../http/public-fetch.ts';
import type { Network } from '../http/public-request.ts';
import { createConcurrencyLimit } from '../limits/concurrency-limit.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import type { AuthServerOptions } from '../options/options.ts';
import { isLostInProduction, resolveOptions } from '../options/resolve.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { rotationDelay } from '../options/tokens.ts';
import { boolean } from '../options/values.ts';
import { signingKeyAge } from '../record/signing-key-age.ts';
import { createAccess } from './access.ts';
import { createAuthorizationRequests } from '../login/authorization-request.ts';
import type { AuthServer } from './auth-server.ts';
import { requireAwait, requireCall } from './calls.ts';
import { createClients } from './clients.ts';
import { createLogin, startEngine } from './engine.ts';
import { apiOf, createRevokeOf, installFeatures, runFeatures, TokensOfFeatures, useOf } from './features.ts';
import { createReadiness, healthEndpoints } from './health.ts';
import { PAUSES, PRUNE, pruneExpired, serverJobs, startJobs } from './jobs.ts';
import { createServerKeys } from './keys.ts';
import { createLimiters } from './limiters.ts';
import { createMount } from './mount.ts';
import { createServerUserData } from './user-data.ts';
import { createRecord } from './record.ts';
import { createClose } from './shutdown.ts';
import { openStorage } from './storage.ts';
import { createTokens } from './tokens.ts';

const GUARD = { resource: optional(unchecked<string>), session: optional(boolean, false) };
const ROTATION = { after: optional(rotationDelay) };

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
export function createAuthServer<
  P extends string = never,
  R extends string = never,
  U extends User = User,
  S extends object = object,
  A extends string = string,
  const F extends readonly AnyFeature[] = readonly AnyFeature[],
>(
  given: AuthServerOptions<P, R, U, S, A> & { readonly features?: F | undefined },
): Promise<AuthServer<P, R, U, S, A> & Added<F>> {
  return requireAwait(createServer(given));
}
beginStackAt(createAuthServer);

/**
 * What {@link createAuthServer} does. No entry point of the package exports it, so that only tests replace the network.
 *
 * @param network - for documents and keys at the URLs of strangers. Left out: the internet
 */
export async function createServer<
  P extends string,
  R extends string,
  U extends User,
  S extends object,
  A extends string,
  const F extends readonly AnyFeature[] = readonly AnyFeature[],
>(
  given: AuthServerOptions<P, R, U, S, A> & { readonly features?: F | undefined },
  network?: Partial<Network>,
): Promise<AuthServer<P, R, U, S, A> & Added<F>> {
  const options = resolveOptions(given, defineGate<P, R>({ permissions: {} as Record<P, string> }));
  const { gate, issuer, logger, resources, scopes, storage } = options;
  const { forget, invalidation } = await openStorage(options);
  const record = createRecord(options);
  const { audit, observers } = record;

  const concurrencyLimit = createConcurrencyLimit(options.limits);
  const keys = await createServerKeys(options, record);
  const limiters = createLimiters(options, { record, secrets: keys.secrets });

  const clientKinds = clientKindsOf(featuresOf(options));
  const clientSources = clientSourcesOf(featuresOf(options));
  const internet = { ...network, loopback: [...clientSources.on.values()].some(({ loopback }) => loopback) };
  const publicFetch = createPublicFetch(internet);
  const furtherFields = clientFieldsOf(featuresOf(options));
  const clients = await createClients(options, {
    clientKinds,
    clientSources,
    furtherFields,
    invalidation,
    publicFetch,
    record,
  });
  const foreign = new TokensOfFeatures();
  const tokens = createTokens(options, { clients, foreign, invalidation, keys, record });
  const requests = createAuthorizationRequests(options, keys.secrets);
  const login = createLogin(options, { record, tokens });
  const userAssignments = createUserAssignments({
    assignments: storage.assignments,
    gate,
    logger,
    users: options.users,
  });
  const features = await installFeatures({
    ...login,
    options,
    storage,
    audit,
    secrets: keys.secrets,
    limiterOf: (limit) => (options.limits.attempts ? limiters.limiterOf(limit) : undefined),
    users: userAssignments,
    announce: invalidation.announce,
    eventRules: storedEventRulesOf(featuresOf(options)),
    clients,
    publicFetch,
    lastUses: clients.lastUses.queue,
    network: internet,
    openHint: requests.openHint,
    tokens,
  });
  const forms = foreign.add(features);
  const access = createAccess(options, {
    clients,
    concurrencyLimit,
    forms,
    invalidation,
    record,
    tokens,
    userAssignments,
  });
  const { grants, userData } = createServerUserData(options, {
    audit,
    invalidation,
    features,
    tokens,
  });
  await invalidation.subscribe();

  const apis = new Map<string, string>();
  const { engine, pages } = await startEngine(options, {
    access,
    apis,
    clientKinds,
    clientSources,
    clients,
    features,
    login,
    invalidation,
    keys,
    limiters,
    record,
    requests,
    tokens,
  });
  const mount = createMount(options, {
    concurrencyLimit,
    engine,
    features,
    invalidate: invalidation.notify,
    limiter: limiters.clients,
    pages,
    forms,
    record,
    requests,
    verify: tokens.verify,
  });

  const pruned = { storage, ofFeatures: prunesOf(featuresOf(options)), onRemoved: clients.onRemoved };
  const { ready, watch } = createReadiness({ storage, server: concurrencyLimit, logger });
  await watch();
  const stopJobs = startJobs(serverJobs(options, { keys, pruned, watch }), logger);
  const stopFeatures = runFeatures(features, logger);
  if (isLostInProduction(storage))
    logger.warn(
      {},
      'the storage loses everything when the process ends: use knexStorage(knex) in production',
    );
  logger.info(
    {
      issuer,
      node: process.version,
      durable: storage.durable,
      signing_key_age_seconds: signingKeyAge(keys.tokens),
    },
    'authorization server started',
  );
  const health = healthEndpoints(ready, concurrencyLimit);

  const own: AuthServer<P, R, U, S, A> = {
    issuer,
    gate,
    scopes,
    clients: clients.registryFor(),
    assignments: access.assignments,
    events: audit,
    observe: observers.add,
    audit,
    middleware(...passed: readonly unknown[]) {
      requireCall('middleware', passed);
      return mount;
    },
    callback(...passed: readonly unknown[]) {
      requireCall('callback', passed);
      return createCallback(options, health, mount);
    },
    guard(guarded = {}) {
      requireCall('guard', [guarded]);
      const { resource, session } = readOptions(GUARD, guarded, 'guard()');
      return access.guardFor(resource, session ? login.sessions.findUser : undefined);
    },
    requires: createRequires<P, U, S>({ gate, realm: issuer, observers }),
    issueToken: tokens.issueToken,
    grants,
    userData,
    revoke: createRevokeOf(tokens.revokeFor(), forms),
    keys: {
      list: () => keys.list(),
      rotate: async (rotation = {}) => keys.rotate(readOptions(ROTATION, rotation, 'keys.rotate()').after),
    },
    prune: async (pruning = {}) =>
      pruneExpired(pruned, readOptions(PRUNE, pruning, 'prune()'), PAUSES.server),
    check: async () => {
      const { runChecks } = await import('./doctor/run-checks.ts');
      return runChecks({
        storage,
        examine: examinationsOf(featuresOf(options)),
        gate,
        scopes,
        keys: keys.material,
        cookieKeys: options.secrets.cookieKeys,
        keyRotation: options.tokens.keyRotation,
        pruneInterval: options.retention.pruneInterval,
        reportPlainKeys:
          given.secrets?.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production',
        further: features.flatMap(({ check = [] }) => check),
        issuer: undefined,
      });
    },
    ready,
    health: () => health,
    close: createClose({
      concurrencyLimit,
      audit,
      invalidation,
      lastUses: clients.lastUses,
      logger,
      async stopJobs() {
        forget();
        await Promise.all([stopJobs(), stopFeatures()]);
      },
      storage,
    }),
    use: useOf(features),
    get provider() {
      return engine.provider();
    },
    [INTERNALS]: {
      admitsAgents: clientSources.on.size > 0,
      apis,
      audit,
      concurrencyLimit,
      clientKinds,
      places: features.flatMap(({ places = [] }) => places),
      eventRules: eventRulesOf(featuresOf(options)),
      limitCallers: limiters.limitCallers,
      logger,
      mountPath: options.paths.mount,
      observers,
      resources,
      sessionCookie: sessionCookie(options),
      storage,
      trace: record.trace,
    },
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(apiOf(features, own))) as typeof own &
    Added<F>;
}

/** Creates the request listener that serves an authorization server in a Koa app of its own. */
function createCallback(
  { logger, trustProxy }: Pick<ResolvedOptions, 'logger' | 'trustProxy'>,
  ...served: readonly Middleware[]
): RequestListener {
  // The proxy appends one address to `X-Forwarded-For`. The client can have sent the ones before it, so only the last is used.
  const app = new Koa({ proxy: trustProxy, maxIpsCount: 1 });
  app.on('error', (error: Error & { expose?: boolean }, ctx?: Context) => {
    if (!error.expose && !isConnectionError(error, ctx)) logger.error({ err: error }, 'request failed');
  });
  for (const middleware of served) app.use(middleware);
  const handle = app.callback();
  return (request, response) => void handle(request, response);
}

/**
 * Whether an error that Koa reports is one of the client's connection: the connection was closed, or the bytes are not HTTP.
 * Such an error is not logged: it is no fault of the server, and Node attaches the bytes that it could not parse, which may
 * contain passwords and secrets.
 */
function isConnectionError(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  return ctx?.req.socket.errored === error || String(error.code).startsWith(PARSER_ERROR);
}

const PARSER_ERROR = 'HPE_';
