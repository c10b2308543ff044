import { isUnlimited } from '../clients/consents.ts';
import { now } from '../contracts/clock.ts';
import type {
  AuditLog,
  AuditOrigin,
  AuthorizedApp,
  AuthorizedApps,
  Consent,
  Storage,
  User,
} from '../contracts/index.ts';

/** What `createAuthorizedApps()` takes. */
export interface AuthorizedAppsPorts {
  readonly storage: Pick<Storage, 'clients' | 'consents' | 'grants'>;
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  readonly audit: Pick<AuditLog, 'record'>;
}

/** Creates the function that lists and disconnects the authorized apps of a user. */
export function createAuthorizedApps({
  audit,
  scopes,
  storage,
}: AuthorizedAppsPorts): (user: User, origin?: Omit<AuditOrigin, 'actorId'>) => AuthorizedApps {
  const { clients, consents, grants } = storage;

  async function describe(consent: Consent): Promise<AuthorizedApp | undefined> {
    const stored = await clients.find(consent.clientId);
    if (!stored) return undefined;
    const names = isUnlimited(consent) ? stored.client.scopes : consent.scopes;
    return {
      client: stored.client,
      // A scope that is no longer defined is listed by its name: without it, an empty list could be read as an unlimited
      // consent.
      scopes: (names ?? []).map((name) => ({
        name,
        description: scopes.get(name)?.description ?? name,
      })),
      limited: names !== undefined,
      createdAt: consent.createdAt,
      lastUsedAt: consent.lastUsedAt,
    };
  }

  return function authorizedAppsOf(user, origin = {}) {
    return {
      async list() {
        const described = await Promise.all((await consents.list(user.id)).map(describe));
        return described.filter((app) => app !== undefined);
      },
      async disconnect(clientId) {
        // The id comes from a request, and PostgreSQL refuses a NUL character in text.
        if (clientId.length > 255 || clientId.includes('\0')) return false;
        const consent = await consents.find(user.id, clientId);
        const at = now();
        // The grants before the consent: after a crash in between, the app is still listed and can be disconnected again.
        const revoked = await grants.revoke({ userId: user.id, clientId }, at);
        const removed = await consents.delete(user.id, clientId);
        // Again, because a concurrent authorization may have read the consent and created a grant between the two writes.
        await grants.revoke({ userId: user.id, clientId }, at);
        if (consent && removed) {
          audit.record(
            { type: 'consent_withdrawn', userId: user.id, clientId, scopes: namedScopes(consent) },
            { ...origin, actorId: user.id },
          );
        }
        return removed || revoked.length > 0;
      },
    };
  };
}

/** The scopes of a consent for the audit event; none when the consent is unlimited. */
function namedScopes(consent: Consent): readonly string[] {
  return isUnlimited(consent) ? [] : consent.scopes;
}
