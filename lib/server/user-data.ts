import { createAuthorizedApps } from '../account/authorized-apps.ts';
import { createUserData } from '../account/user-data.ts';
import { createUserGrants } from '../account/user-grants.ts';
import type { AuditLog, UserData, UserGrantsRegistry } from '../contracts/index.ts';
import { exportsOf, featuresOf } from '../features/known.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { importConsentsOf } from './features.ts';
import type { ServerFeature } from './features.ts';
import type { ServerStorage } from './storage.ts';
import type { ServerTokens } from './tokens.ts';

/** What a server shows and ends of a user's grants, and what it exports and erases. */
export function createServerUserData(
  options: ResolvedOptions,
  {
    audit,
    invalidation,
    features,
    tokens,
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly audit: AuditLog;
    readonly features: readonly ServerFeature[];
    readonly tokens: Pick<ServerTokens, 'revokeFor'>;
  },
): { readonly grants: UserGrantsRegistry; readonly userData: UserData } {
  const { storage } = options;
  const grants = createUserGrants({
    audit,
    authorizedAppsOf: createAuthorizedApps({
      ...options,
      audit,
      importConsents: importConsentsOf(features),
    }),
    kinds: features.flatMap((feature) => feature.grants ?? []),
    storage,
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
