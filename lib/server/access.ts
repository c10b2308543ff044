import { createAssignments } from '../access/assignments.ts';
import { createGuard } from '../access/guard.ts';
import type { Guard, GuardMiddleware } from '../access/guard.ts';
import { createFindClientPermissions, createPrincipalLoader } from '../access/principal.ts';
import type { FindClientPermissions, UserAssignments } from '../access/principal.ts';
import { createAuthenticateSession } from '../access/session.ts';
import type { FindSessionUser } from '../access/session.ts';
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
   * @param findSessionUser - accepts login sessions. @default tokens only
   * @throws ConfigError when the server does not have the API
   */
  readonly guardFor: (
    resource: string | undefined,
    findSessionUser?: FindSessionUser,
  ) => GuardMiddleware<P, U>;
  readonly clientPermissions: FindClientPermissions<P>;
  readonly userAssignments: UserAssignments<U>;
}

/** Creates them, and connects the caches of the guards to the changes on this node, which take effect at once. */
export function createAccess<P extends string, R extends string, U extends User>(
  options: ResolvedOptions<P, R, U>,
  parts: Pick<ServerBase, 'concurrencyLimit' | 'invalidation' | 'record'> &
    Pick<ServerCore<U>, 'clients' | 'features' | 'tokens' | 'userAssignments'>,
): ServerAccess<P, R, U> {
  const { gate, issuer, resources, storage, users } = options;
  const { clients, concurrencyLimit, invalidation, record, tokens } = parts;
  const { userAssignments } = parts;
  const clientPermissions = createFindClientPermissions<P>(gate, userAssignments);

  const createGuardOf = (api: ResolvedResource<P>): Guard<P, U> =>
    createGuard<P, U>({
      api,
      issuer,
      server: concurrencyLimit,
      logger: options.logger,
      observers: record.observers,
      trace: record.trace,
      revocationLag: options.tokens.revocationLag,
      cachedTokens: options.tokens.cached,
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
  const guards = new Map(Array.from(resources, ([resource, api]) => [resource, createGuardOf(api)]));
  invalidation.add((changed) => {
    for (const guard of guards.values()) guard.forget(changed);
  });

  return {
    assignments: createAssignments({
      users,
      gate,
      store: storage.assignments,
      audit: record.audit,
      onChange: (userId) => invalidation.announce({ userId }),
    }),
    guardFor(resource = issuer, findSessionUser) {
      const api = requireResource('guard({ resource })', resource, resources);
      const guard = guards.get(api.resource)!;
      return findSessionUser
        ? guard.withSessions(createAuthenticateSession<P, U>({ api, gate, findSessionUser, userAssignments }))
        : guard;
    },
    clientPermissions,
    userAssignments,
  };
}
