import { setTimeout as delay } from 'node:timers/promises';

import { now } from '../clock.ts';
import type { AuditLog, Grant, Storage, VerifyAccessToken } from '../contracts.ts';
import { ConfigError } from '../errors.ts';
import { hashCredential } from './hash.ts';

/** What to revoke: one of these, by its id or by the token itself. */
export type RevocationTarget =
  /** An access token: that token. A refresh token or a code: its whole family. */
  | { readonly token: string }
  /** A grant id, as in the `grant_id` claim. */
  | { readonly grant: string }
  /** A user's id: all their tokens at all clients, and their login sessions. Call it when a password changes. */
  | { readonly user: string }
  /** A `client_id`: all its tokens, its users' and its own, issued until it is done: by the end of the second. */
  | { readonly client: string };

/** Makes `auth.revoke()`. */
export function createRevoke(
  storage: Storage,
  {
    verify,
    audit,
    accessTokenLifetime,
  }: { verify: VerifyAccessToken; audit: AuditLog; accessTokenLifetime: number },
): (target: RevocationTarget) => Promise<void> {
  return async function revoke(target) {
    checkTarget(target);
    const at = now();
    if ('token' in target) {
      await revokeToken(target.token, at);
    } else if ('grant' in target) {
      await revokeGrant(await storage.grants.find(target.grant), at);
    } else if ('user' in target) {
      await storage.grants.revoke({ userId: target.user }, at);
      await storage.sessions.removeOfUser(target.user);
      audit.record({ type: 'tokens_revoked', target: 'user', userId: target.user });
    } else {
      await storage.grants.revoke({ clientId: target.client }, at);
      const revokedAt = now();
      await storage.revocations.add({
        kind: 'client',
        value: target.client,
        revokedAt,
        expiresAt: revokedAt + accessTokenLifetime,
      });
      audit.record({ type: 'tokens_revoked', target: 'client', clientId: target.client });
      // Tokens tell the second in which they were issued: those of this one are all revoked, and whoever is told that it
      // is done may ask for a new one at once.
      await delay(1001 - (Date.now() % 1000));
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
      await storage.revocations.add({ kind: 'token', value: jti, revokedAt: at, expiresAt });
      const userId = principal === 'user' ? sub : undefined;
      audit.record({ type: 'tokens_revoked', target: 'token', clientId, userId, grantId });
      return;
    }
    for (const kind of ['refresh_token', 'code'] as const) {
      const found = await storage.credentials.find(kind, hashCredential(token));
      await revokeGrant(found?.grant, at);
    }
  }
}

// A misspelt target would revoke nothing, and look like success.
function checkTarget(target: RevocationTarget): void {
  const [entry, ...more] = Object.entries(target ?? {});
  const [kind, value]: [string, unknown] = entry ?? ['', ''];
  if (more.length > 0 || !KINDS.has(kind) || typeof value !== 'string' || value === '') {
    throw new ConfigError(
      'revoke()',
      'pass one of { token }, { grant }, { user } and { client }, with a string',
    );
  }
}

const KINDS: ReadonlySet<string> = new Set(['token', 'grant', 'user', 'client']);
