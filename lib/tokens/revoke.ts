import { now } from '../contracts/clock.ts';
import type {
  AccessTokenClaims,
  AuditLog,
  Grant,
  RevocationStore,
  Storage,
  VerifyAccessToken,
} from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';

/** What to revoke: one token, a grant, a user, a client, or everything. */
export type RevocationTarget =
  /** An access token is revoked alone; a refresh token or a code with its whole family. */
  | { readonly token: string }
  /** A grant id, as in the `grant_id` claim. */
  | { readonly grant: string }
  /**
   * The id of a user: all tokens of the user at all clients, the user's login sessions, and every login and authorization in
   * progress. Call it when a password changes, and when a user is removed.
   */
  | { readonly user: string }
  /**
   * A `client_id`: all tokens of the client, for its users and for itself. The client can get new tokens afterwards: at once on
   * this node, and within `revocationLag` on other nodes, which until then may issue client-credentials tokens that are revoked
   * already.
   */
  | { readonly client: string }
  /**
   * All tokens, logins and authorizations of all users and clients, also those that the storage does not know because it was
   * restored from a backup. Remembered consents are deleted. Every user signs in and is asked for consent again. As with a
   * client, other nodes may issue client-credentials tokens that are revoked already, for `revocationLag`.
   */
  | { readonly all: true };

/** Creates `auth.revoke()`. */
export function createRevoke(
  storage: Storage,
  {
    audit,
    invalidate,
    verify,
  }: {
    audit: AuditLog;
    /** Empties the caches of this node. */
    invalidate: () => void;
    verify: VerifyAccessToken;
  },
): (target: RevocationTarget) => Promise<void> {
  return async function revoke(target) {
    checkTarget(target);
    const at = now();
    if ('token' in target) {
      await revokeToken(target.token, at);
    } else if ('grant' in target) {
      await revokeGrant(await storage.grants.find(target.grant), at);
    } else if ('user' in target) {
      await storage.revocations.end({ userId: target.user });
      // The sessions are invalid already; their rows are deleted to save space.
      await storage.sessions.deleteOfUser(target.user);
      audit.record({ type: 'tokens_revoked', target: 'user', userId: target.user });
    } else if ('all' in target) {
      await storage.revocations.end({ all: true });
      await storage.consents.deleteAll();
      audit.record({ type: 'tokens_revoked', target: 'all' });
    } else {
      await storage.revocations.end({ clientId: target.client });
      audit.record({ type: 'tokens_revoked', target: 'client', clientId: target.client });
    }
  };

  async function revokeGrant(grant: Grant | undefined, at: number): Promise<void> {
    if (!grant) return;
    const { clientId, id: grantId, userId } = grant;
    const revoked = await storage.grants.revoke({ id: grantId }, at);
    if (revoked.length > 0)
      audit.record({ type: 'tokens_revoked', target: 'grant', clientId, userId, grantId });
  }

  async function revokeToken(token: string, at: number): Promise<void> {
    const claims = await verify(token);
    if (claims) {
      const { client_id: clientId, exp: expiresAt, grant_id: grantId, jti, principal, sub } = claims;
      await storage.revocations.add({ id: jti, revokedAt: at, expiresAt });
      const userId = principal === 'user' ? sub : undefined;
      audit.record({ type: 'tokens_revoked', target: 'token', clientId, userId, grantId });
      return;
    }
    for (const kind of ['refresh_token', 'code'] as const) {
      const found = await storage.credentials.find(kind, hashCredential(token));
      if (found) return revokeGrant(found.grant, at);
    }
    // Another node may have revoked it a moment ago, and this node may still have tokens of its family in its cache.
    invalidate();
  }
}

/** Whether neither a verified access token, nor its grant, its user or its client was revoked. One read. */
export async function isTokenActive(
  revocations: Pick<RevocationStore, 'stands'>,
  {
    client_id: clientId,
    grant_id: grantId,
    jti: id,
    principal,
    revocation_sequence: sequence = 0,
    sub,
  }: AccessTokenClaims,
): Promise<boolean> {
  const grant = principal === 'user' ? { id: grantId ?? '', userId: sub } : undefined;
  return revocations.stands({ id, clientId, grant, sequence });
}

// A misspelt target would revoke nothing without an error.
function checkTarget(target: RevocationTarget): void {
  const [entry, ...more] = Object.entries(target ?? {});
  const [kind, value]: [string, unknown] = entry ?? ['', ''];
  const isValid =
    kind === 'all' ? value === true : KINDS.has(kind) && typeof value === 'string' && value !== '';
  if (more.length > 0 || !isValid) {
    throw new ConfigError(
      'revoke()',
      'pass one of { token }, { grant }, { user } and { client }, with a string, or { all: true }',
    );
  }
}

const KINDS: ReadonlySet<string> = new Set(['token', 'grant', 'user', 'client']);
