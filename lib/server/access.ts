import { createAssignments } from '../access/assignments.ts';
import { createGuard } from '../access/guard.ts';
import type { AdmittingGuard, Guard } from '../access/guard.ts';
import { createFindClientPermissions, createPrincipalLoader } from '../access/principal.ts';
import type { FindClientPermissions, UserAssignments } from '../access/principal.ts';
import { createAuthenticateSession } from '../access/session.ts';
import type { Assignments, User } from '../contracts/index.ts';
import { featuresOf } from '../features/known.ts';
import { withStored } from '../features/shipped.ts';
import { requireResource } from '../options/resources.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import type { ServerBase } from './base.ts';
import type { ServerCore } from './core.ts';

/** The guards of the APIs, and the permissions of users and clients. */
export interface ServerAccess<P extends string, R extends string, U extends User> {
  readonly assignments: Assignments<P, R>;
  /**
   * The guard of an API, by default of that of the issuer.
   *
   * @param session - whether login sessions are accepted, and not tokens only
   * @throws ConfigError when the server does not have the API
   */
  readonly guardFor: (resource: string | undefined, session: boolean) => AdmittingGuard<P, U>;
  /** Verifies a token of an API without its request. @throws ConfigError as `guardFor` */
  readonly verifierFor: (resource: string | undefined) => Guard<P, U>['verify'];
  readonly clientPermissions: FindClientPermissions<P>;
  readonly userAssignments: UserAssignments<U>;
}

/** The guards of an API, with one cache. */
interface Guards<P extends string, U extends User> {
  readonly ofTokens: Guard<P, U>;
  readonly withSessions: AdmittingGuard<P, U>;
}

/** Creates them, and connects the caches of the guards to the changes on this node, which take effect at once. */
export function createAccess<P extends string, R extends string, U extends User>(
  options: ResolvedOptions<P, R, U>,
  parts: Pick<ServerBase, 'concurrencyLimit' | 'invalidation' | 'record'> &
    Pick<ServerCore<U>, 'clients' | 'features' | 'login' | 'tokens' | 'userAssignments'>,
): ServerAccess<P, R, U> {
  const { gate, issuer, resources, storage, users } = options;
  const { clients, concurrencyLimit, invalidation, login, record, tokens, userAssignments } = parts;
  const clientPermissions = createFindClientPermissions<P>(gate, userAssignments);

  function createGuards(api: ResolvedResource<P>): Guards<P, U> {
    const ofTokens = createGuard<P, U>({
      api,
      issuer,
      server: concurrencyLimit,
      logger: options.logger,
      observers: record.observers,
      trace: record.trace,
      revocationLag: options.tokens.revocationLag,
      cachedTokens: options.tokens.maxCached,
      verify: tokens.verifyFor(api.resource),
      forms: [
        ...parts.features.flatMap(({ tokens: form }) =>
          form ? [{ ...form, load: form.loaderFor(api) }] : [],
        ),
        ...withStored(featuresOf(options)).flatMap(({ tokensOff = [] }) => tokensOff),
      ],
      loadPrincipal: createPrincipalLoader({
        api,
        clientPermissions,
        findUsable: tokens.findUsable,
        gate,
        isActive: tokens.isActiveFor(clients.lastUses.appUsed),
        userAssignments,
      }),
    });
    const findSessionUser = login.sessions.findUser;
    const ofSessions = createAuthenticateSession<P, U>({ api, gate, findSessionUser, userAssignments });
    return { ofTokens, withSessions: ofTokens.withSessions(ofSessions) };
  }

  const guards = new Map(Array.from(resources, ([resource, api]) => [resource, createGuards(api)]));
  invalidation.add((changed) => {
    for (const { ofTokens } of guards.values()) ofTokens.forget(changed);
  });

  const guardsOf = (resource = issuer): Guards<P, U> =>
    guards.get(requireResource('resource', resource, resources).resource)!;

  return {
    verifierFor: (resource) => guardsOf(resource).ofTokens.verify,
    assignments: createAssignments({
      users,
      gate,
      store: storage.assignments,
      audit: record.audit,
      onChange: (userId) => invalidation.announce({ userId }),
    }),
    guardFor: (resource, session) => guardsOf(resource)[session ? 'withSessions' : 'ofTokens'],
    clientPermissions,
    userAssignments,
  };
}
