import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../clock.ts';
import type { AccessTokenClaims, RevocationStore } from '../../contracts.ts';
import { currentState } from '../request-state.ts';
import { stands } from '../revoke.ts';

/**
 * Access tokens are signed and not kept. At the revocation and introspection endpoints the token has been verified
 * before the engine runs (see structured-token.ts); here its claims become the row that the engine expects.
 */
export function accessTokenAdapter(
  principal: AccessTokenClaims['principal'],
  revocations: RevocationStore,
  lifetime: number,
): Partial<Adapter> {
  return {
    async find(id) {
      const claims = currentState()?.claims;
      if (claims?.jti !== id || claims.principal !== principal) return undefined;
      return (await stands(revocations, claims)) ? toPayload(claims) : undefined;
    },
    async destroy(id) {
      const at = now();
      const expiresAt = currentState()?.claims?.exp ?? at + lifetime;
      await revocations.add({ id, revokedAt: at, expiresAt });
    },
    async revokeByGrantId() {},
  };
}

function toPayload(claims: AccessTokenClaims): AdapterPayload {
  return {
    kind: claims.principal === 'user' ? 'AccessToken' : 'ClientCredentials',
    jti: claims.jti,
    iat: claims.iat,
    exp: claims.exp,
    aud: claims.aud,
    clientId: claims.client_id,
    scope: claims.scope,
    ...(claims.principal === 'user' ? { accountId: claims.sub, grantId: claims.grant_id } : {}),
    extra: { principal: claims.principal },
  };
}
