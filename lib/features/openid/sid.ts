import { hashCredential } from '../../keys/hash.ts';

/**
 * The claim `sid`: what a client knows a login session by (OpenID Connect Back-Channel Logout 1.0 section 2.1). It stays the same when
 * the same user logs in again in the same browser, and is another one for each client.
 *
 * @param uid - the {@link StoredSession.uid}
 */
export function sidOf(uid: string, clientId: string): string {
  return hashCredential(JSON.stringify([uid, clientId]));
}
