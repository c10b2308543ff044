import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import type { VerifyAccessToken } from '../contracts.ts';
import { stateOf } from './request-state.ts';

// Three parts of base64url: no refresh token of this server has a dot.
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Puts something that the engine knows in the place of a signed token. */
export type UnwrapToken = (ctx: Context, form: URLSearchParams) => Promise<void>;

/**
 * Lets the revocation and introspection endpoints take signed access tokens, which the engine refuses: a token that
 * verifies is replaced by its `jti`, under which the adapter finds its claims; one that does not, by an id that nothing
 * has, which both endpoints answer as RFC 7009 section 2.2 and RFC 7662 section 2.2 say.
 */
export function createUnwrapToken(verify: VerifyAccessToken): UnwrapToken {
  return async (ctx, form) => {
    const token = form.get('token');
    if (!token || form.getAll('token').length > 1 || !LOOKS_LIKE_JWT.test(token)) return;
    const claims = await verify(token);
    if (claims) stateOf(ctx).claims = claims;
    form.set('token', claims?.jti ?? randomUUID());
  };
}
