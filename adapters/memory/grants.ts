import type { Grant, GrantSelector, GrantStore } from '../../lib/contracts.ts';
import { copy } from './copy.ts';
import { addRevocation } from './tables.ts';
import type { Tables } from './tables.ts';

/** Grants: found by id or by user, and ended. */
export function grantStore(tables: Tables): GrantStore {
  const { grants } = tables;
  return {
    async find(id) {
      return copy(grants.get(id)?.grant);
    },
    async list(userId) {
      return [...grants.values()]
        .map(({ grant }) => grant)
        .filter((grant) => grant.userId === userId)
        .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
        .map(copy);
    },
    async revoke(selector, at) {
      const live = [...grants.values()].filter(
        ({ grant }) => grant.revokedAt === undefined && isSelected(grant, selector),
      );
      for (const row of live) {
        row.grant = { ...row.grant, revokedAt: at };
        addRevocation(tables, {
          kind: 'grant',
          value: row.grant.id,
          revokedAt: at,
          expiresAt: row.neededUntil,
        });
      }
      return live.map(({ grant }) => grant.id);
    },
  };
}

function isSelected(grant: Grant, selector: GrantSelector): boolean {
  if ('id' in selector) return grant.id === selector.id;
  if (!('userId' in selector)) return grant.clientId === selector.clientId;
  const { userId, clientId } = selector;
  return grant.userId === userId && (clientId === undefined || grant.clientId === clientId);
}
