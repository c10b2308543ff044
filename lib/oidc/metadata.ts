import type { Middleware } from 'koa';

import type { ResolvedOptions } from '../options/options.ts';

const TRUE_MEMBERS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'jwks_uri',
  'response_types_supported',
  'grant_types_supported',
  'code_challenge_methods_supported',
  'token_endpoint_auth_methods_supported',
  'authorization_response_iss_parameter_supported',
] as const;

/**
 * The authorization server's metadata (RFC 8414 section 2). The engine also announces what OpenID Connect would offer;
 * this says only what is true here.
 */
export function serverMetadata(
  announced: Readonly<Record<string, unknown>>,
  { scopes }: Pick<ResolvedOptions, 'scopes'>,
): Record<string, unknown> {
  const members = Object.fromEntries(TRUE_MEMBERS.map((name) => [name, announced[name]]));
  const confidential = ['client_secret_basic', 'client_secret_post'];
  return {
    ...members,
    response_modes_supported: [...RESPONSE_MODES],
    scopes_supported: [...scopes.keys()],
    revocation_endpoint_auth_methods_supported: [...confidential, 'none'],
    introspection_endpoint_auth_methods_supported: confidential,
  };
}

/** The ways in which the answer to an authorization request reaches the app. */
const RESPONSE_MODES = ['query', 'fragment'] as const;

// No response mode or type of the engine, so it answers `unsupported_response_mode` or `unsupported_response_type`.
const UNSUPPORTED = 'unsupported';

/**
 * Refuses what the engine would accept in an authorization request: the response mode `form_post`, whose page runs an inline
 * script and has none of the headers of the other pages, and a response type that repeats a value, such as `code code`
 * (RFC 6749 section 3.1.1).
 */
export const refuseUnsupported: Middleware = async (ctx, next) => {
  const { response_mode: mode, response_type: type } = ctx.query;
  if (mode === 'form_post') ctx.query = { ...ctx.query, response_mode: UNSUPPORTED };
  if (typeof type === 'string' && /\b(\w+) +\1\b/.test(type))
    ctx.query = { ...ctx.query, response_type: UNSUPPORTED };
  await next();
};
