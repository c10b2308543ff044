import type { Middleware } from 'koa';

const OPENID_ONLY = new Set(['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce']);

/**
 * Takes OpenID Connect's own parameters out of an authorization request. The engine refuses them in a request without
 * the scope `openid`, but to an OAuth 2.0 server they are unknown, and it ignores those (RFC 6749 section 3.1). Client
 * libraries that send a `nonce` with every request work.
 */
export const ignoreOpenIdParameters: Middleware = async (ctx, next) => {
  const known = Object.entries(ctx.query).filter(([name]) => !OPENID_ONLY.has(name));
  if (known.length < Object.keys(ctx.query).length) ctx.query = Object.fromEntries(known);
  await next();
};
