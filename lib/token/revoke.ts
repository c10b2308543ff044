import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import type {
  AuditLog,
  ConsentStore,
  EndedBy,
  Grant,
  Seconds,
  Storage,
  VerifyAccessToken,
} from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { checkNames, isObject } from '../options/declare.ts';
import { hashCredential } from '../keys/hash.ts';

/** What to revoke: one token, a grant, a user, a client, or everything. */
export type RevocationTarget =
  /** An access token, a personal one too, is revoked alone; a refresh token or a code with its whole family. */
  | { readonly token: string }
  /** A grant id, as in the `grant_id` claim. */
  | { readonly grantId: string }
  /**
   * The id of a user: all tokens of the user at all clients, the user's personal access tokens and login sessions, and every login and
   * authorization in progress. Call it when a password changes, and when a user is removed.
   */
  | { readonly userId: string }
  /**
   * A `client_id`: all tokens of the client, for its users and for itself. The client can get new tokens afterwards: at once on
   * this node, and within `tokens.revocationLag` on other nodes, which until then may issue client-credentials tokens that are revoked
   * already.
   */
  | { readonly clientId: string }
  /**
   * All tokens, logins and authorizations of all users and clients, also those that the storage does not know because it was
   * restored from a backup. Remembered consents are deleted. Every user signs in and is asked for consent again. As with a
   * client, other nodes may issue client-credentials tokens that are revoked already, for `tokens.revocationLag`.
   */
  | { readonly all: true };

/** Creates `auth.revoke()`. */
export function createRevoke(
  storage: Storage,
  {
    audit,
    invalidate,
    findForeignGrant,
    verify,
  }: {
    audit: AuditLog;
    /** Empties the caches of this node. */
    invalidate: () => void;
    verify: VerifyAccessToken;
    /** Finds the grant of a refresh token of another server, which must not accept it any more. @default there is none */
    findForeignGrant?: ((token: string) => Promise<Grant | undefined>) | undefined;
  },
): (target: RevocationTarget) => Promise<void> {
  return async function revoke(target) {
    checkTarget(target);
    const at = now();
    if ('token' in target) {
      await revokeToken(target.token, at);
    } else if ('grantId' in target) {
      const grant = await confirmAbsence(storage, storage.grants.find(target.grantId));
      if (grant) await revokeGrant(grant, at);
    } else if ('userId' in target) {
      await storage.revocations.revokeAllOf({ userId: target.userId });
      // The sessions are invalid already; their rows are deleted to save space.
      await storage.sessions.deleteOfUser(target.userId);
      audit.record({ type: 'tokens_revoked', target: 'user', userId: target.userId });
    } else if ('all' in target) {
      await storage.revocations.revokeAllOf({ all: true });
      await storage.consents.deleteAll();
      audit.record({ type: 'tokens_revoked', target: 'all' });
    } else {
      await storage.revocations.revokeAllOf({ clientId: target.clientId });
      audit.record({ type: 'tokens_revoked', target: 'client', clientId: target.clientId });
    }
  };

  async function revokeGrant(
    { clientId, id: grantId, userId }: Grant,
    at: Seconds,
    by?: EndedBy,
  ): Promise<void> {
    const revoked = await storage.grants.revoke({ id: grantId }, at, by);
    if (revoked.length > 0)
      audit.record({ type: 'tokens_revoked', target: 'grant', clientId, userId, grantId });
  }

  async function revokeToken(token: string, at: Seconds): Promise<void> {
    const claims = await verify(token);
    if (claims) {
      const { client_id: clientId, exp: expiresAt, grant_id: grantId, jti, principal, sub } = claims;
      await storage.revocations.revokeToken({ id: jti, revokedAt: at, expiresAt });
      const userId = principal === 'user' ? sub : undefined;
      audit.record({ type: 'tokens_revoked', target: 'token', clientId, userId, grantId });
      return;
    }
    const grant = await confirmAbsence(storage, findGrantOf(token));
    if (grant) return revokeGrant(grant, at, 'client');
    // Another node may have revoked it a moment ago, and this node may still have tokens of its family in its cache.
    invalidate();
  }

  /** The grant of a refresh token or a code. */
  async function findGrantOf(token: string): Promise<Grant | undefined> {
    const foreign = await findForeignGrant?.(token);
    if (foreign) return foreign;
    for (const kind of ['refresh_token', 'code'] as const) {
      const found = await storage.grants.findCredential(kind, hashCredential(token));
      if (found) return found.grant;
    }
    return undefined;
  }
}

/** Ends a user whom the user store does not find any more. */
export type EndMissingUser = (userId: string) => Promise<void>;

/**
 * Makes the function that is called where a live session, code or token leads to a user whom `users.find()` does not find: the host
 * has removed the user, and may give the id to somebody else. Afterwards none of these is live, so that it is called once.
 *
 * Consents are deleted too: what one person has agreed to is not agreed by the next one.
 */
export function createEndMissingUser(
  revoke: (target: { readonly userId: string }) => Promise<void>,
  consents: Pick<ConsentStore, 'delete' | 'list'>,
): EndMissingUser {
  return async function endMissingUser(userId) {
    for (const { clientId } of await consents.list(userId)) await consents.delete(userId, clientId);
    // Last: nothing meets the user again, so that what is missing by then would stay.
    await revoke({ userId });
  };
}

// A misspelt target would revoke nothing without an error.
function checkTarget(target: RevocationTarget): void {
  if (isObject(target)) checkNames(target, KINDS, 'revoke()');
  const [entry, ...more] = Object.entries(target ?? {});
  const [kind, value]: [string, unknown] = entry ?? ['', ''];
  const isValid = kind === 'all' ? value === true : typeof value === 'string' && value !== '';
  if (!isObject(target) || more.length > 0 || !isValid) {
    throw new ConfigError(
      'revoke()',
      'pass one of { token }, { grantId }, { userId } and { clientId }, with a string, or { all: true }',
    );
  }
}

const KINDS = { token: true, grantId: true, userId: true, clientId: true, all: true };
