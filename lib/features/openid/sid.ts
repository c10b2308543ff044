import { hashCredential } from '../../keys/hash.ts';

/**
 * The claim `sid`, by which a client knows a login session (OpenID Connect Back-Channel Logout 1.0 section 2.1). It stays the same when
 * the same user logs in again in the same browser, and it is different for each client.
 *
 * @param uid - the {@link StoredSession.uid}
 */
export function sidOf(uid: string, clientId: string): string {
  return hashCredential(JSON.stringify([uid, clientId]));
}
