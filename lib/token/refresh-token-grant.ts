import { errors } from '../engine/oidc-provider.ts';

import type { GrantType } from '../engine/part.ts';
import { requestedScopes } from './scopes.ts';
import { exchange, findOwn, refuseExpired, refuseReplay, requireParameters } from './exchange.ts';
import type { GrantParts } from './exchange.ts';

/** Refreshing an access token (RFC 6749 section 6). Each refresh token is exchanged once, for the next one (RFC 9700 section 4.14.2). */
export const refreshTokenGrant = (parts: GrantParts): GrantType => ({
  name: 'refresh_token',
  parameters: ['refresh_token', 'scope', 'resource'],
  async handle(ctx, request) {
    const { refresh_token: value, scope } = requireParameters(ctx, 'refresh_token');
    const presented = await findOwn(request, parts, { kind: 'refresh_token', value });
    refuseExpired(presented);
    const { scopes: named } = requestedScopes(scope);
    // As in an authorization request: apps of Laravel Passport repeat it for all that was granted.
    const isForAll = named?.includes('*') === true && !presented.scopes.includes('*');
    const requested = isForAll ? undefined : named;
    const missing = requested?.filter((name) => !presented.scopes.includes(name)) ?? [];
    if (missing.length > 0) {
      const scopes = missing.length === 1 ? 'scope' : 'scopes';
      throw new errors.InvalidScope(`refresh token missing requested ${scopes}`, missing.join(' '));
    }
    await refuseReplay(ctx, presented, { request, parts });
    await exchange(ctx, presented, { request, parts, requested });
  },
});
