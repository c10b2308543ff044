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

/** What the connected apps ask of the rest of the server. */
export interface AuthorizedAppsPorts {
  readonly storage: Pick<Storage, 'clients' | 'consents' | 'grants'>;
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  readonly audit: Pick<AuditLog, 'record'>;
}

/** Makes the lists of the apps that people have authorized. */
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
      // A scope that is no longer defined is told by its name: leaving it out could make "nothing" look like "everything".
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
        return described.filter((connection) => connection !== undefined);
      },
      async disconnect(clientId) {
        // Strangers make up ids, and some databases refuse a NUL.
        if (clientId.length > 255 || clientId.includes('\0')) return false;
        const consent = await consents.find(user.id, clientId);
        const at = now();
        // The tokens first: after a crash behind this line the app is still listed, and can be disconnected again.
        const revoked = await grants.revoke({ userId: user.id, clientId }, at);
        const removed = await consents.delete(user.id, clientId);
        // Then those of an authorization that had found the consent and came between the two.
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

/** None when the app may do all that the user may do. */
function namedScopes(consent: Consent): readonly string[] {
  return isUnlimited(consent) ? [] : consent.scopes;
}
