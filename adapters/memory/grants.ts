import { now } from '../../lib/contracts/clock.ts';
import type {
  Credential,
  FoundCredential,
  Grant,
  GrantPrerequisites,
  GrantSelector,
  GrantStore,
  Seconds,
} from '../../lib/contracts/index.ts';
import { unusedGrants } from '../../lib/contracts/unused-grants.ts';
import { revokeGrants } from './logouts.ts';
import { copy, copyWithPayload, isLive, isUserEnded, keyOf, throwIfTaken } from './tables.ts';
import type { CredentialRow, GrantRow, Tables } from './tables.ts';

/** Grants with their credentials. */
export function grantStore(tables: Tables): GrantStore {
  const { credentials, grants } = tables;

  function findLive(kind: Credential['kind'], id: string) {
    const credential = credentials.get(keyOf(kind, id));
    const row = credential && grants.get(credential.grantId);
    return row && isLive(tables, row.grant) ? { credential, row } : undefined;
  }

  function changeGrant(id: string, changes: Partial<Grant>): void {
    const row = grants.get(id)!;
    row.grant = { ...row.grant, ...changes };
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
      return copy({ ...toFound(found.credential), grant: found.row.grant });
    },
    async findChain(first, limit) {
      const chain: CredentialRow[] = [];
      let row = findLive('refresh_token', first)?.credential;
      while (row && chain.length < limit) {
        chain.push(row);
        row = credentials.get(keyOf('refresh_token', row.successorId ?? ''));
      }
      return chain.map((found) => copy(toFound(found)));
    },
    async redeem({ kind, id }, { successor, sealedSuccessor, neededUntil = 0, sessionUid }) {
      const found = findLive(kind, id);
      if (!found) return { outcome: 'gone' };
      const { credential, row } = found;
      if (sessionUid !== undefined && row.grant.sessionUid !== sessionUid) return { outcome: 'gone' };
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
      const spent = { consumedAt: Date.now(), sealedSuccessor, successorId: successor?.id };
      credentials.set(keyOf(kind, id), { ...credential, ...spent });
      return { outcome: 'redeemed' };
    },
    async list(userId, { now: at, limit }) {
      const counts = new Map<string, number>();
      return [...grants.values()]
        .filter(
          ({ grant, neededUntil }) => grant.userId === userId && isLive(tables, grant) && neededUntil > at,
        )
        .toSorted(lastUsedFirst)
        .map(({ grant, lastUsedAt }) => Object.assign(copy(grant), { lastUsedAt }))
        .filter(({ clientId }) => {
          const count = (counts.get(clientId) ?? 0) + 1;
          counts.set(clientId, count);
          return count <= limit;
        });
    },
    async touch(id, at) {
      const row = grants.get(id);
      if (row) row.lastUsedAt = Math.max(row.lastUsedAt ?? 0, at);
    },
    revoke: async (selector, at, notice) =>
      revokeGrants(tables, (grant) => isSelected(grant, selector), { at, notice }),
    async endUnused({ kept, ...of }, most, at) {
      const live = [...grants.values()]
        .filter(
          ({ grant, neededUntil }) =>
            isSelected(grant, of) && grant.revokedAt === undefined && neededUntil > at,
        )
        .toSorted(lastUsedFirst)
        .map(({ grant }) => grant);
      const { ended, needless } = unusedGrants(live, kept, most);
      for (const id of ended) changeGrant(id, { revokedAt: at });
      for (const id of needless) {
        changeGrant(id, { sessionUid: undefined });
        grants.get(id)!.neededUntil = at;
      }
      return ended;
    },
  };
}

function toFound({ successorId: _id, ...credential }: CredentialRow): Omit<FoundCredential, 'grant'> {
  const { consumedAt, expiresAt } = credential;
  return {
    credential,
    expiresIn: expiresAt - now(),
    spentFor: consumedAt === undefined ? undefined : Date.now() - consumedAt,
  };
}

function lastUsedFirst(a: GrantRow, b: GrantRow): number {
  return usedAt(b) - usedAt(a) || (a.grant.id < b.grant.id ? -1 : 1);
}

function usedAt({ grant, lastUsedAt }: GrantRow): Seconds {
  return lastUsedAt ?? grant.createdAt;
}

function isSelected(grant: Grant, selector: GrantSelector): boolean {
  if ('id' in selector) return grant.id === selector.id;
  return grant.userId === selector.userId && grant.clientId === selector.clientId;
}

/** Inserts a grant with its first credential, unless one of its prerequisites has been deleted, or its user was ended. */
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
  if (isUserEnded(tables, grant.userId, grant.sequence)) return false;
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
