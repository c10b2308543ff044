import { now } from '../../lib/contracts/clock.ts';
import type {
  Credential,
  Grant,
  GrantPrerequisites,
  GrantSelector,
  GrantStore,
} from '../../lib/contracts/index.ts';
import { copy, copyWithPayload, isLive, keyOf, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Grants with their credentials. */
export function grantStore(tables: Tables): GrantStore {
  const { credentials, grants } = tables;

  function findLive(kind: Credential['kind'], id: string) {
    const credential = credentials.get(keyOf(kind, id));
    const row = credential && grants.get(credential.grantId);
    return row && isLive(tables, row.grant) ? { credential, row } : undefined;
  }

  return {
    async insert(grant, credential, prerequisites = {}) {
      return insertGrant(tables, grant, credential, prerequisites);
    },
    async find(id) {
      return copy(grants.get(id)?.grant);
    },
    async findCredential(kind, id) {
      const found = findLive(kind, id);
      if (!found) return undefined;
      const { credential, row } = found;
      const { consumedAt, expiresAt } = credential;
      return copy({
        credential,
        grant: row.grant,
        expiresIn: expiresAt - now(),
        spentFor: consumedAt === undefined ? undefined : Date.now() - consumedAt,
      });
    },
    async redeem({ kind, id }, { successor, sealedSuccessor, neededUntil = 0 }) {
      const found = findLive(kind, id);
      if (!found) return { outcome: 'gone' };
      const { credential, row } = found;
      if (credential.consumedAt !== undefined) {
        return {
          outcome: 'spent',
          sealedSuccessor: credential.sealedSuccessor,
        };
      }
      if (successor) {
        insertCredential(tables, successor);
      }
      row.neededUntil = Math.max(row.neededUntil, neededUntil, successor?.expiresAt ?? 0);
      credentials.set(keyOf(kind, id), { ...credential, consumedAt: Date.now(), sealedSuccessor });
      return { outcome: 'redeemed' };
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

/** Inserts a grant with its first credential, unless one of its prerequisites has been deleted. */
export function insertGrant(
  tables: Tables,
  grant: Grant,
  credential: Credential,
  { consent, sessionId }: GrantPrerequisites,
): boolean {
  const { consents, grants, sessions } = tables;
  const known = consent && consents.get(keyOf(consent.userId, consent.clientId));
  if (known?.createdAt !== consent?.createdAt) return false;
  if (sessionId !== undefined && !sessions.has(sessionId)) return false;
  throwIfTaken(grants, grant.id);
  insertCredential(tables, credential);
  grants.set(grant.id, {
    grant: copy(grant),
    neededUntil: Math.max(grant.expiresAt, credential.expiresAt),
  });
  return true;
}

function insertCredential({ credentials }: Tables, credential: Credential): void {
  const key = keyOf(credential.kind, credential.id);
  throwIfTaken(credentials, key);
  credentials.set(key, copyWithPayload(credential));
}
