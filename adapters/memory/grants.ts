import type {
  ConsentStore,
  Credential,
  CredentialStore,
  Grant,
  GrantBasis,
  GrantSelector,
  GrantStore,
  RevocationStore,
} from '../../lib/contracts/index.ts';
import { now } from '../../lib/contracts/clock.ts';
import { copy, copyWithPayload, end, endOfClient, isLive, keyOf, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Consents of users to clients. */
export function consentStore({ consents, registrations, soleUsers }: Tables): ConsentStore {
  return {
    async find(userId, clientId) {
      return copy(consents.get(keyOf(userId, clientId)));
    },
    async add(consent, basis) {
      if (basis?.registration) {
        const registration = registrations.get(consent.clientId);
        if (!registration) return false;
        const removableAt = Math.max(registration.removableAt, consent.updatedAt + registration.unusedAfter);
        registrations.set(consent.clientId, { ...registration, removableAt });
        const before = soleUsers.get(consent.clientId) ?? consent.userId;
        soleUsers.set(consent.clientId, before === consent.userId ? before : '');
      }
      const key = keyOf(consent.userId, consent.clientId);
      const known = consents.get(key);
      const { createdAt, lastUsedAt } = known ?? consent;
      const scopes = merged(known?.scopes, consent.scopes);
      const hosts = { ...known?.hosts };
      for (const [host, consented] of Object.entries(consent.hosts))
        hosts[host] = merged(hosts[host], consented);
      const updatedAt = Math.max(consent.updatedAt, known?.updatedAt ?? 0);
      consents.set(key, { ...consent, scopes, hosts, createdAt, updatedAt, lastUsedAt });
      return true;
    },
    async touch(userId, clientId, at) {
      const key = keyOf(userId, clientId);
      const known = consents.get(key);
      if (known && at > (known.lastUsedAt ?? 0)) consents.set(key, { ...known, lastUsedAt: at });
    },
    async delete(userId, clientId) {
      return consents.delete(keyOf(userId, clientId));
    },
    async deleteAll() {
      const { size } = consents;
      consents.clear();
      return size;
    },
    async list(userId) {
      return [...consents.values()]
        .filter((consent) => consent.userId === userId)
        .toSorted((a, b) => a.createdAt - b.createdAt || (a.clientId < b.clientId ? -1 : 1))
        .map(copy);
    },
  };
}

function merged(before: readonly string[] = [], scopes: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...scopes])].toSorted();
}

/** Grants, which are inserted with their code by the credential store. */
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

/** Authorization codes and refresh tokens. */
export function credentialStore(tables: Tables): CredentialStore {
  const { credentials, grants } = tables;

  function findLive(kind: Credential['kind'], id: string) {
    const credential = credentials.get(keyOf(kind, id));
    const row = credential && grants.get(credential.grantId);
    return row && isLive(tables, row.grant) ? { credential, row } : undefined;
  }

  return {
    async start(grant, code, basis = {}) {
      return startGrant(tables, grant, code, basis);
    },
    async find(kind, id) {
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
  };
}

/** Inserts a grant with its first credential, unless the consent or the session that it is based on has been deleted. */
export function startGrant(
  tables: Tables,
  grant: Grant,
  credential: Credential,
  { consent, sessionId }: GrantBasis,
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

/** Revoked access tokens, and users and clients whose tokens, grants and sessions were ended. */
export function revocationStore(tables: Tables): RevocationStore {
  const { ends, grants, revokedTokens } = tables;
  return {
    async revokeToken(token) {
      const known = revokedTokens.get(token.id);
      revokedTokens.set(
        token.id,
        copy({
          ...token,
          revokedAt: Math.max(token.revokedAt, known?.revokedAt ?? 0),
          expiresAt: Math.max(token.expiresAt, known?.expiresAt ?? 0),
        }),
      );
    },
    async revokeAllOf(party) {
      end(tables, party);
    },
    async latestSequence() {
      return ends.latest;
    },
    async isValid({ id, clientId, grant, sequence }) {
      if (revokedTokens.has(id)) return false;
      if (!grant) return sequence >= endOfClient(tables, clientId);
      const found = grants.get(grant.id)?.grant;
      return found?.userId === grant.userId && found.clientId === clientId && isLive(tables, found);
    },
  };
}
