import type { Context } from 'koa';

import { ENDPOINTS } from './endpoints.ts';
import { separatedScope } from './request-parameters.ts';
import type { NameResources } from './resource-parameter.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

const SUPPORTED_MEMBERS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'device_authorization_endpoint',
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
 * @param ofOpenId - the members about OpenID Connect. `undefined`: it is off
 */
export function serverMetadata(
  announced: Readonly<Record<string, unknown>>,
  { clients, issuer, scopes }: ResolvedOptions,
  ofOpenId: object | undefined,
): Record<string, unknown> {
  const members = Object.fromEntries(SUPPORTED_MEMBERS.map((name) => [name, announced[name]]));
  const secret = ['client_secret_basic', 'client_secret_post'];
  const confidential = clients.keys ? [...secret, 'private_key_jwt'] : secret;
  const algorithms = announced['token_endpoint_auth_signing_alg_values_supported'];
  return {
    ...members,
    ...(clients.registration ? { registration_endpoint: issuer + ENDPOINTS.registration } : {}),
    response_modes_supported: [...RESPONSE_MODES],
    // Some clients refresh only where `offline_access` is announced. That of an API never is (RFC 9728): it permits nothing there.
    scopes_supported: [...scopes.keys(), 'offline_access'],
    revocation_endpoint_auth_methods_supported: [...confidential, 'none'],
    introspection_endpoint_auth_methods_supported: confidential,
    ...(clients.keys && {
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    }),
    ...(clients.documents && { client_id_metadata_document_supported: true }),
    ...ofOpenId,
  };
}

/**
 * How an authorization response is returned to the client (OAuth 2.0 Multiple Response Type Encoding Practices, section 2.1).
 */
const RESPONSE_MODES = ['query', 'fragment'] as const;

// No response mode or type of the engine, so it answers `unsupported_response_mode` or `unsupported_response_type`.
const UNSUPPORTED = 'unsupported';

const OPENID_ONLY: ReadonlySet<string> = new Set([
  'acr_values',
  'claims',
  'claims_locales',
  'id_token_hint',
  'max_age',
  'nonce',
]);

/**
 * Removes the parameters of OpenID Connect from a device authorization request, as {@link adaptQuery} does from an authorization
 * request. Returns the form without them.
 */
export function withoutOpenIdParameters(form: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...form].filter(([name]) => !isOpenIdOnly(name)));
}

/**
 * Changes the parameters of an authorization request before the engine reads them.
 *
 * Refused is what the engine would accept: the response mode `form_post`, whose page runs an inline script and has none of the
 * headers of the other pages, and a response type that repeats a value, such as `code code` (RFC 6749 section 3.1.1).
 *
 * Without the scope `openid`, or the option, the parameters of OpenID Connect are removed. The engine would refuse them, but an OAuth
 * 2.0 server must ignore unknown parameters (RFC 6749 section 3.1). Some client libraries send a `nonce` always.
 *
 * The prompt `select_account` is `login`: a browser has one login session, and the user who logs in is the selected one.
 */
export function adaptQuery(
  ctx: Context,
  {
    hasOpenId,
    nameResources,
  }: { readonly hasOpenId: boolean; readonly nameResources: NameResources | undefined },
): void {
  const { query } = ctx;
  const { prompt, resource, response_mode: mode, response_type: type, scope } = query;
  const isOpenId = hasOpenId && typeof scope === 'string' && scope.split(' ').includes('openid');
  const changed: Record<string, string> = {};
  if (typeof scope === 'string' && scope !== separatedScope(scope)) changed['scope'] = separatedScope(scope);
  if (mode === 'form_post') changed['response_mode'] = UNSUPPORTED;
  if (typeof type === 'string' && /\b(\w+) +\1\b/.test(type)) changed['response_type'] = UNSUPPORTED;
  if (nameResources && typeof resource === 'string') {
    const parameters = new URLSearchParams({ resource });
    if (nameResources(parameters)) changed['resource'] = parameters.get('resource')!;
  }
  if (typeof prompt === 'string' && prompt.includes('select_account'))
    changed['prompt'] = prompt.replaceAll(/\bselect_account\b/g, 'login');
  const isRemoved = (name: string): boolean => !isOpenId && isOpenIdOnly(name);
  if (Object.keys(changed).length === 0 && !Object.keys(query).some(isRemoved)) return;
  const kept = Object.entries(query).filter(([name]) => !isRemoved(name));
  ctx.query = { ...Object.fromEntries(kept), ...changed };
}

function isOpenIdOnly(name: string): boolean {
  return OPENID_ONLY.has(name);
}
