import type { AccessTokenClaims, RevocationStore } from '../contracts.ts';

/** Tells whether a verified access token was revoked: by itself, with its grant, or with its client. One read. */
export async function isRevoked(revocations: RevocationStore, claims: AccessTokenClaims): Promise<boolean> {
  const found = await revocations.among([
    { kind: 'token', value: claims.jti },
    claims.principal === 'user'
      ? { kind: 'grant', value: claims.grant_id ?? '' }
      : { kind: 'client', value: claims.client_id },
  ]);
  // A client's tokens of before are dead; those it gets after it was enabled again are not.
  return found.some(({ kind, revokedAt }) => kind !== 'client' || claims.iat <= revokedAt);
}
