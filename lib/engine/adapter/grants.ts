import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../clock.ts';
import type { Grant, GrantStore } from '../../contracts.ts';
import { isLimitedToNothing } from '../limited-grant.ts';
import { currentState } from '../request-state.ts';

/**
 * Grants. They are saved together with their code (see credentials.ts) and found together with the code or refresh
 * token that the request presents, so most requests cost no read here.
 */
export function grantAdapter(grants: GrantStore, resource: string): Partial<Adapter> {
  return {
    async find(id) {
      const known = currentState()?.grant;
      const grant = known?.id === id ? known : await grants.find(id);
      return grant && grant.revokedAt === undefined ? toPayload(grant, resource) : undefined;
    },
    // The engine destroys a grant when one of its credentials is used twice: the whole family dies.
    async destroy(id) {
      await grants.revoke({ id }, now());
    },
  };
}

function toPayload(grant: Grant, resource: string): AdapterPayload {
  const hasScopes = grant.scopes.length > 0 && !isLimitedToNothing(grant);
  return {
    kind: 'Grant',
    jti: grant.id,
    accountId: grant.userId,
    clientId: grant.clientId,
    iat: grant.createdAt,
    // A grant lives for as long as it has live credentials, which the storage knows; the engine looks those up first.
    exp: Number.MAX_SAFE_INTEGER,
    ...(hasScopes ? { resources: { [resource]: grant.scopes.join(' ') } } : {}),
  };
}
