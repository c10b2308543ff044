import type { AuditLog, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createPersonalTokens } from '../personal-tokens/personal-tokens.ts';
import type { ManagedPersonalTokens } from '../personal-tokens/personal-tokens.ts';
import type { ServerAccess } from './access.ts';

/** The personal access tokens of a server. Each method throws a `ConfigError` without the option `tokens.personal`. */
export function createServerPersonalTokens<P extends string, R extends string, U extends User>(
  { gate, issuer, resources, storage, tokens: { personal } }: ResolvedOptions<P, R, U>,
  {
    access: { userAssignments },
    audit,
  }: {
    readonly access: Pick<ServerAccess<P, R, U>, 'userAssignments'>;
    readonly audit: Pick<AuditLog, 'record'>;
  },
): ManagedPersonalTokens {
  if (!personal) return { create: refuse, list: refuse, revoke: refuse };
  return createPersonalTokens({
    store: storage.personalTokens,
    audit,
    latestSequence: async () => storage.revocations.latestSequence(),
    issuer,
    scopesOf: (resource = issuer) => resources.get(resource)?.scopes,
    async permissionsOf(userId) {
      const found = await userAssignments.find(userId);
      return found && gate.effective(found.assignment);
    },
    maxLifetime: personal.maxLifetime,
    perUser: personal.perUser,
  });
}

async function refuse(): Promise<never> {
  throw new ConfigError('tokens.personal', 'set it to true: there are no personal access tokens without it');
}
