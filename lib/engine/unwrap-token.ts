import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import type { VerifyAccessToken } from '../contracts/index.ts';
import type { TokenForm } from '../features/tokens.ts';
import { originOf } from '../http/request.ts';
import type { EngineRequest } from './request.ts';

// Three parts of base64url with dots between them. Refresh tokens of this server contain no dot.
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Replaces an access token with an id that the engine's adapter finds; or the request is answered. */
export type UnwrapToken = (
  request: EngineRequest,
  ctx: Context,
  form: URLSearchParams,
) => Promise<'answered' | undefined>;

/**
 * Lets the revocation and introspection endpoints accept signed access tokens, which the engine refuses. A valid token is
 * replaced by its `jti`, for which the adapter finds its claims; an invalid token is replaced by a random id that does not
 * exist, which both endpoints answer as RFC 7009 section 2.2 and RFC 7662 section 2.2 require.
 *
 * Whoever has the value of a token of another form can revoke it, without the authentication of a client: it was issued to none, and a
 * scanner that has found it in a public place is none.
 */
export function createUnwrapToken(verify: VerifyAccessToken, forms: readonly TokenForm[]): UnwrapToken {
  return async (request, ctx, sent) => {
    const token = sent.get('token');
    if (!token || sent.getAll('token').length > 1) return undefined;
    const form = forms.find((one) => one.isWellFormed(token));
    if (form) {
      if (request.endpoint.endsTokens) {
        await form.end(token, originOf(request.host));
        ctx.status = 200;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {};
        return 'answered';
      }
      request.introspected = await form.introspect(token, request.host);
      sent.set('token', request.introspected?.jti ?? randomUUID());
      return undefined;
    }
    if (!LOOKS_LIKE_JWT.test(token)) return undefined;
    const claims = await verify(token);
    request.accessTokenClaims = claims;
    sent.set('token', claims?.jti ?? randomUUID());
    return undefined;
  };
}
