import type { Middleware } from 'koa';

import { createPermissionCheck, createRequires } from '../access/requires.ts';
import type { Gate, User } from '../contracts/index.ts';
import { sessionCookie } from '../engine/cookie-keys.ts';
import { eventRulesOf, examinationsOf, featuresOf } from '../features/known.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import { endpointsOf } from '../engine/endpoint-paths.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { rotationDelay } from '../options/tokens.ts';
import { boolean } from '../options/values.ts';
import type { ServerAccess } from './access.ts';
import type { AuthServer } from './auth-server.ts';
import type { ServerBase } from './base.ts';
import { createAuthenticate } from './authenticate.ts';
import { createCallback, createOwnApp } from './callback.ts';
import { requireCall } from './calls.ts';
import type { ServerCore } from './core.ts';
import type { ServerEngine } from './engine.ts';
import { apiOf, createRevokeOf, featureMembersOf } from './features.ts';
import { healthEndpoints } from './health.ts';
import { PRUNE } from './jobs.ts';
import { createClose } from './shutdown.ts';
import type { ServerUserData } from './user-data.ts';
import type { ServerWork } from './work.ts';

const GUARD = { resource: optional(unchecked<string>), session: optional(boolean, false) };
const ROTATION = { after: optional(rotationDelay) };

/** What the members of a server are made of. */
export interface MemberParts<P extends string, R extends string, U extends User>
  extends ServerBase, ServerCore<U>, ServerEngine, ServerUserData {
  readonly access: ServerAccess<P, R, U>;
  readonly mount: Middleware;
  readonly work: ServerWork;
  /** Whether keys that are stored without encryption are a finding: not where an option of production allows them. */
  readonly reportPlainKeys: boolean;
}

/** Makes the members of a server, with those of its features. @throws ConfigError when two features add the same */
export function createMembers<
  P extends string,
  R extends string,
  U extends User,
  S extends object,
  A extends string,
>(options: ResolvedOptions<P, R, U, S>, parts: MemberParts<P, R, U>): AuthServer<Gate<P, R, S>, U, A> {
  const { gate, issuer, logger, resources, scopes, storage } = options;
  const { access, clients, clientKinds, clientSources, concurrencyLimit, engine, features, keys } = parts;
  const { limiters, mount, tokens, work } = parts;
  const { audit, observers, trace } = parts.record;
  const health = healthEndpoints(work.ready, concurrencyLimit);
  const app = createOwnApp(options);
  const serve = createCallback(app, [health, mount]);

  const own: AuthServer<Gate<P, R, S>, U, A> = {
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
    callback(...served) {
      requireCall('callback', served);
      return serve(...served);
    },
    authenticate: createAuthenticate<P, U, S>(app, {
      checkPermissions: createPermissionCheck({ gate, realm: issuer }),
      gate,
      guardFor: access.guardFor,
      logger,
      observers,
    }),
    guard(guarded = {}) {
      requireCall('guard', [guarded]);
      const { resource, session } = readOptions(GUARD, guarded, 'guard()');
      return access.guardFor(resource, session);
    },
    // The type of the objects is that of the gate, which TypeScript reads from a gate that it knows only.
    requires: createRequires<P, U, S>({ gate, realm: issuer, observers }) as unknown as typeof own.requires,
    issueToken: tokens.issueToken,
    userGrants: parts.grants,
    userData: parts.userData,
    revoke: createRevokeOf(
      tokens.revokeFor(),
      features.flatMap((feature) => feature.tokens ?? []),
    ),
    signingKeys: {
      list: () => keys.list(),
      rotate: async (rotation = {}) =>
        keys.rotate(readOptions(ROTATION, rotation, 'signingKeys.rotate()').after),
    },
    prune: async (pruning = {}) => work.prune(readOptions(PRUNE, pruning, 'prune()')),
    doctor: async () => {
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
        reportPlainKeys: parts.reportPlainKeys,
        further: features.flatMap(({ check = [] }) => check),
        issuer: undefined,
      });
    },
    ready: work.ready,
    health: () => health,
    close: createClose({
      concurrencyLimit,
      audit,
      invalidation: parts.invalidation,
      lastUses: clients.lastUses,
      logger,
      stopJobs: async () => work.stop(),
      storage,
    }),
    featureMembers: featureMembersOf(features),
    get provider() {
      return engine.provider();
    },
    parts: {
      admitsAgents: clientSources.on.size > 0,
      apis: parts.apis,
      tools: parts.tools,
      audit,
      concurrencyLimit,
      clientKinds,
      endpoints: endpointsOf(features),
      eventRules: eventRulesOf(featuresOf(options)),
      limitCallers: limiters.limitCallers,
      logger,
      mountPath: options.paths.mount,
      observers,
      pages: parts.pages,
      resources,
      sessionCookie: sessionCookie(options),
      storage,
      trace,
      verifierFor: access.verifierFor,
    },
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(apiOf(features, own)));
}
