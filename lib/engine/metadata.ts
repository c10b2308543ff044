import type { ResolvedOptions } from '../options/resolved-options.ts';

const SUPPORTED_MEMBERS = [
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
 * The authorization server's metadata (RFC 8414 section 2). The engine announces features that this server does not offer; only the
 * members that apply are taken over.
 *
 * @param parts.added - the members that features add
 * @param parts.canPost - whether the pages have one that posts the response
 */
export function serverMetadata(
  announced: Readonly<Record<string, unknown>>,
  { clients, scopes }: ResolvedOptions,
  { added, canPost }: { readonly added: readonly object[]; readonly canPost: boolean },
): Record<string, unknown> {
  const members = Object.fromEntries(SUPPORTED_MEMBERS.map((name) => [name, announced[name]]));
  const secret = ['client_secret_basic', 'client_secret_post'];
  const confidential = clients.privateKeyJwt ? [...secret, 'private_key_jwt'] : secret;
  const algorithms = announced['token_endpoint_auth_signing_alg_values_supported'];
  return {
    ...members,
    response_modes_supported: canPost ? [...RESPONSE_MODES, 'form_post'] : RESPONSE_MODES,
    // Some clients refresh only where `offline_access` is announced. That of an API never is (RFC 9728): it permits nothing there.
    scopes_supported: [...scopes.keys(), 'offline_access'],
    revocation_endpoint_auth_methods_supported: [...confidential, 'none'],
    introspection_endpoint_auth_methods_supported: confidential,
    ...(clients.privateKeyJwt && {
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    }),
    ...Object.assign({}, ...added),
  };
}

/**
 * How an authorization response is returned to the client (OAuth 2.0 Multiple Response Type Encoding Practices, section 2.1; OAuth 2.0
 * Form Post Response Mode).
 */
const RESPONSE_MODES = ['query', 'fragment'] as const;
