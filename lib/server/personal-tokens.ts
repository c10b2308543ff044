import { createIntrospectPersonalToken } from '../access/personal-token.ts';
import type { AuditLog, User } from '../contracts/index.ts';
import type { PresentedPersonalTokens } from '../engine/request-body.ts';
import { ConfigError } from '../errors.ts';
import { originOf } from '../http/request-id.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createEndPersonalToken } from '../personal-tokens/end.ts';
import { createPersonalTokens } from '../personal-tokens/personal-tokens.ts';
import type { ManagedPersonalTokens } from '../personal-tokens/personal-tokens.ts';
import type { FindUsable } from '../token/usable-token.ts';
import type { ServerAccess } from './access.ts';

/** The personal access tokens of a server. */
export interface ServerPersonalTokens {
  /** Each method throws a `ConfigError` without the option `tokens.personal`. */
  readonly managed: ManagedPersonalTokens;
  /** Those that are presented at the endpoints for clients. `undefined`: there are none. */
  readonly presented: PresentedPersonalTokens | undefined;
}

export function createServerPersonalTokens<P extends string, R extends string, U extends User>(
  options: ResolvedOptions<P, R, U>,
  {
    access: { userAssignments },
    audit,
    findUsable,
  }: {
    readonly access: Pick<ServerAccess<P, R, U>, 'userAssignments'>;
    readonly audit: Pick<AuditLog, 'record'>;
    readonly findUsable: FindUsable;
  },
): ServerPersonalTokens {
  const { gate, issuer, resources, storage } = options;
  const { personal } = options.tokens;
  if (!personal) return { managed: REFUSED, presented: undefined };
  const store = storage.personalTokens;
  const managed = createPersonalTokens({
    storage,
    audit,
    issuer,
    scopesOf: (resource = issuer) => resources.get(resource)?.scopes,
    async permissionsOf(userId) {
      const found = await userAssignments.find(userId);
      return found && gate.effective(found.assignment);
    },
    maxLifetime: personal.maxLifetime,
    perUser: personal.perUser,
  });
  const { byValue } = createEndPersonalToken(storage, audit);
  return {
    managed,
    presented: {
      end: async (value, ctx) => byValue(value, originOf(ctx)),
      introspect: createIntrospectPersonalToken<P, U>({
        findUsable,
        gate,
        issuer,
        store,
        userAssignments,
      }),
    },
  };
}

const REFUSED = { create: refuse, list: refuse, revoke: refuse, revokeOfUser: refuse };

async function refuse(): Promise<never> {
  throw new ConfigError('tokens.personal', 'set it to true: there are no personal access tokens without it');
}
