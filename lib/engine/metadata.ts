import type { ResolvedOptions } from '../options.ts';
import { RESPONSE_MODES } from './response-modes.ts';

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
