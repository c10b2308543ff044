import { createUserData } from '../account/user-data.ts';
import { createUserGrants } from '../account/user-grants.ts';
import { createUserSessions } from '../account/user-sessions.ts';
import type { User, UserData, UserGrantsRegistry } from '../contracts/index.ts';
import { exportsOf, featuresOf } from '../features/known.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ServerBase } from './base.ts';
import type { ServerCore } from './core.ts';

/** What a server shows and ends of a user's grants, and what it exports and erases. */
export interface ServerUserData {
  readonly grants: UserGrantsRegistry;
  readonly userData: UserData;
}

/** Makes it. */
export function createServerUserData(
  options: ResolvedOptions,
  {
    authorizedAppsOf,
    features,
    invalidation,
    record: { audit },
    tokens,
  }: Pick<ServerBase, 'invalidation' | 'record'> &
    Pick<ServerCore<User>, 'authorizedAppsOf' | 'features' | 'tokens'>,
): ServerUserData {
  const { storage } = options;
  const grants = createUserGrants({
    authorizedAppsOf,
    kinds: features.flatMap((feature) => feature.grants ?? []),
    storage,
    userSessionsOf: createUserSessions({ audit, storage }),
  });
  const userData = createUserData({
    audit,
    announce: () => invalidation.announce(),
    exports: exportsOf(featuresOf(options), storage),
    revoke: tokens.revokeFor(),
    storage,
  });
  return { grants, userData };
}
