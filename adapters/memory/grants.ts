import type { Grant, GrantSelector, GrantStore } from '../../lib/contracts/index.ts';
import { copy } from './copy.ts';
import type { Tables } from './tables.ts';

/** Grants: found by id, and revoked. */
export function grantStore({ grants }: Tables): GrantStore {
  return {
    async find(id) {
      return copy(grants.get(id)?.grant);
    },
    async revoke(selector, at) {
      const live = [...grants.values()].filter(
        ({ grant }) => grant.revokedAt === undefined && isSelected(grant, selector),
      );
      for (const row of live) row.grant = { ...row.grant, revokedAt: at };
      return live.map(({ grant }) => grant.id);
    },
  };
}

function isSelected(grant: Grant, selector: GrantSelector): boolean {
  if ('id' in selector) return grant.id === selector.id;
  return grant.userId === selector.userId && grant.clientId === selector.clientId;
}
