import type { Middleware } from 'koa';

import { createRequires } from '../access/requires.ts';
import type { User } from '../contracts/index.ts';
import { sessionCookie } from '../engine/cookie-keys.ts';
import { eventRulesOf, examinationsOf, featuresOf } from '../features/known.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import { endpointsOf } from '../engine/places.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { rotationDelay } from '../options/tokens.ts';
import { boolean } from '../options/values.ts';
import type { ServerAccess } from './access.ts';
import type { AuthServer } from './auth-server.ts';
import type { ServerBase } from './base.ts';
import { createCallback } from './callback.ts';
import { requireCall } from './calls.ts';
import type { ServerCore } from './core.ts';
import type { ServerEngine } from './engine.ts';
import { apiOf, createRevokeOf, useOf } from './features.ts';
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
>(options: ResolvedOptions<P, R, U, S>, parts: MemberParts<P, R, U>): AuthServer<P, R, U, S, A> {
  const { gate, issuer, logger, resources, scopes, storage } = options;
  const { access, clients, clientKinds, clientSources, concurrencyLimit, engine, features, keys } = parts;
  const { limiters, login, mount, tokens, work } = parts;
  const { audit, observers, trace } = parts.record;
  const health = healthEndpoints(work.ready, concurrencyLimit);
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
    grants: parts.grants,
    userData: parts.userData,
    revoke: createRevokeOf(
      tokens.revokeFor(),
      features.flatMap((feature) => feature.tokens ?? []),
    ),
    keys: {
      list: () => keys.list(),
      rotate: async (rotation = {}) => keys.rotate(readOptions(ROTATION, rotation, 'keys.rotate()').after),
    },
    prune: async (pruning = {}) => work.prune(readOptions(PRUNE, pruning, 'prune()')),
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
    use: useOf(features),
    get provider() {
      return engine.provider();
    },
    parts: {
      admitsAgents: clientSources.on.size > 0,
      apis: parts.apis,
      audit,
      concurrencyLimit,
      clientKinds,
      endpoints: endpointsOf(features),
      eventRules: eventRulesOf(featuresOf(options)),
      limitCallers: limiters.limitCallers,
      logger,
      mountPath: options.paths.mount,
      observers,
      resources,
      sessionCookie: sessionCookie(options),
      storage,
      trace,
    },
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(apiOf(features, own)));
}
