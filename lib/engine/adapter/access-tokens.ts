import type { Adapter, AdapterPayload } from 'oidc-provider';

import { scopesOf } from '../../agreement.ts';
import { now } from '../../clock.ts';
import type { AccessTokenClaims, RevocationStore } from '../../contracts.ts';
import type { ClientDirectory } from '../client-directory.ts';
import { currentState } from '../request-state.ts';
import { stands } from '../revoke.ts';

/**
 * Access tokens are signed and not kept. At the revocation and introspection endpoints the token has been verified
 * before the engine runs (see structured-token.ts); here its claims become the row that the engine expects.
 */
export function accessTokenAdapter(
  principal: AccessTokenClaims['principal'],
  revocations: RevocationStore,
  clients: Pick<ClientDirectory, 'find'>,
  lifetime: number,
): Partial<Adapter> {
  return {
    async find(id) {
      const claims = currentState()?.claims;
      if (claims?.jti !== id || claims.principal !== principal) return undefined;
      if (!(await stands(revocations, claims))) return undefined;
      const stored = await clients.find(claims.client_id);
      return stored && toPayload(claims, scopesOf(claims, stored.client));
    },
    async destroy(id) {
      const at = now();
      const expiresAt = currentState()?.claims?.exp ?? at + lifetime;
      await revocations.add({ id, revokedAt: at, expiresAt });
    },
    async revokeByGrantId() {},
  };
}

/** @param scopes - `undefined`: none limits it */
function toPayload(claims: AccessTokenClaims, scopes: readonly string[] | undefined): AdapterPayload {
  return {
    kind: claims.principal === 'user' ? 'AccessToken' : 'ClientCredentials',
    jti: claims.jti,
    iat: claims.iat,
    exp: claims.exp,
    aud: claims.aud,
    clientId: claims.client_id,
    scope: scopes?.join(' ') || undefined,
    ...(claims.principal === 'user' ? { accountId: claims.sub, grantId: claims.grant_id } : {}),
    // Whoever asks knows that no scope stands for everything, unless it is told that there is none.
    extra: { principal: claims.principal, ...(scopes?.length === 0 ? { limited: true } : {}) },
  };
}
