import { createAuthorizedApps } from '../account/authorized-apps.ts';
import { createUserData } from '../account/user-data.ts';
import { createUserGrants } from '../account/user-grants.ts';
import type { AuditLog, Storage, UserData, UserGrantsRegistry } from '../contracts/index.ts';
import { exportsOf, featuresOf } from '../features/known.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
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
    stored,
    tokens,
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly audit: AuditLog;
    readonly features: readonly ServerFeature[];
    /** The storage without what looks for the consents of Passport, which an export would store. */
    readonly stored: Storage;
    readonly tokens: Pick<ServerTokens, 'revokeFor'>;
  },
): { readonly grants: UserGrantsRegistry; readonly userData: UserData } {
  const { storage } = options;
  const grants = createUserGrants({
    audit,
    authorizedAppsOf: createAuthorizedApps({ ...options, audit }),
    kinds: features.flatMap((feature) => feature.grants ?? []),
    storage,
  });
  const userData = createUserData({
    audit,
    announce: () => invalidation.announce(),
    exports: exportsOf(featuresOf(options), stored),
    revoke: tokens.revokeFor(),
    storage: stored,
  });
  return { grants, userData };
}
