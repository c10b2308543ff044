import { createAuthorizedApps } from '../account/authorized-apps.ts';
import { createUserData } from '../account/user-data.ts';
import { createUserGrants } from '../account/user-grants.ts';
import type { AuditLog, LogoutNotices, Storage, UserData, UserGrantsRegistry } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { requireMembersFor } from '../options/storage-members.ts';
import type { ManagedPersonalTokens } from '../personal-tokens/personal-tokens.ts';
import type { ServerStorage } from './storage.ts';
import type { ServerTokens } from './tokens.ts';

/** What a server shows and ends of a user's grants, and what it exports and erases. */
export function createServerUserData(
  options: ResolvedOptions,
  {
    audit,
    invalidation,
    logouts,
    personalTokens,
    stored,
    tokens,
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly audit: AuditLog;
    readonly logouts: LogoutNotices | undefined;
    readonly personalTokens: ManagedPersonalTokens;
    /** The storage without what looks for the consents of Passport, which an export would store. */
    readonly stored: Storage;
    readonly tokens: Pick<ServerTokens, 'revokeFor'>;
  },
): { readonly grants: UserGrantsRegistry; readonly userData: UserData } {
  const { storage } = options;
  const requireStore = (): void => requireMembersFor('userData', storage);
  const isOn = options.tokens.personal !== undefined;
  const grants = createUserGrants({
    audit,
    authorizedAppsOf: createAuthorizedApps({ ...options, audit, logouts }),
    logouts,
    personalTokens: isOn ? personalTokens : undefined,
    requireStore,
    storage,
  });
  const userData = createUserData({
    audit,
    announce: () => invalidation.announce(),
    hasPersonalTokens: 'personalTokens' in stored,
    revoke: tokens.revokeFor(),
    requireStore,
    storage: stored,
  });
  return { grants, userData };
}
