import { PATHS } from '../../engine/endpoints.ts';
import { USERINFO } from './options.ts';
import type { OpenIdSettings } from './options.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';

/**
 * The members of the server's metadata that are about OpenID Connect (OpenID Connect Discovery 1.0 section 3, RP-Initiated Logout 1.0
 * section 2.1).
 */
export function openIdMetadata(
  { issuer, login }: Pick<ResolvedOptions, 'issuer' | 'login'>,
  { algorithm, scopes }: OpenIdSettings,
): object {
  const ofLogin = login.authenticationContext ? ['acr', 'amr'] : [];
  const ofScopes = [...scopes.values()].flatMap(({ claims }) => claims);
  return {
    userinfo_endpoint: issuer + USERINFO,
    end_session_endpoint: issuer + PATHS.end_session,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [algorithm],
    claim_types_supported: ['normal'],
    claims_supported: [...new Set([...OF_EACH_LOGIN, ...ofLogin, ...ofScopes])],
    // Back-Channel Logout 1.0 section 2.
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    claims_parameter_supported: true,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    request_parameter_supported: false,
    // Without this member, request URIs would count as supported (Discovery 1.0 section 3).
    request_uri_parameter_supported: false,
  };
}

const OF_EACH_LOGIN = ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'sid'] as const;
