import type { KoaContextWithOIDC } from 'oidc-provider';

import { ConsentInvalidError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { requestOf } from './engine-request.ts';

/**
 * What the consent page of a request asks for. It is stored with the request, so that the consent is the one that the page showed
 * even when the scopes of the client, or those of the server on another node, are different meanwhile.
 *
 * When the user has consented to all scopes, and the client asks again with `prompt=consent`, the page asks for all of them. None of
 * these can be declined: a consent is withdrawn by disconnecting the app, which revokes its tokens too.
 *
 * @param options.resources - the APIs with their scopes
 */
export function consentQuestion(
  ctx: KoaContextWithOIDC,
  { issuer, resources }: Pick<ResolvedOptions, 'issuer' | 'resources'>,
): Pick<AuthorizationRequest, 'limited' | 'consented' | 'optional'> {
  const scopesByResource = Object.values(ctx.oidc.entities.Grant?.resources ?? {});
  const granted = new Set(scopesByResource.flatMap((scope) => scope.split(' ')));
  const { scopes } = resources.get((ctx.oidc.params?.['resource'] as string | undefined) ?? issuer)!;
  const requested = [...ctx.oidc.requestParamScopes];
  const asked = requested.filter((name) => !granted.has(name));
  const consented = asked.length > 0 ? requested.filter((name) => granted.has(name)) : [];
  const optional = asked.filter((name) => scopes.get(name)?.optional === true);
  return {
    ...(requestOf(ctx).isLimitedToNoScope && { limited: true }),
    ...(consented.length > 0 && { consented }),
    ...(optional.length > 0 && { optional }),
  };
}

/** All scopes of the request, each once. */
export function requestedScopes({ parameters }: AuthorizationRequest): string[] {
  return [...new Set(parameters['scope']?.split(' ').filter(Boolean))];
}

/** The scopes that the page asks for. */
export function scopesToConsent(request: AuthorizationRequest): string[] {
  return requestedScopes(request).filter((name) => !request.consented?.includes(name));
}

/**
 * The request without the scopes that the user has declined: it continues as if the client had not requested them, so that the
 * code and all tokens have the granted scopes only.
 *
 * @param chosen - the scopes that the user grants of those that can be declined; `undefined`: all
 * @throws ConsentInvalidError for a scope that was not requested, and when no scope would be left
 */
export function withGrantedScopes(
  request: AuthorizationRequest,
  chosen: readonly string[] | undefined,
): AuthorizationRequest {
  const requested = requestedScopes(request);
  if (chosen === undefined || requested.length === 0) return request;
  const { optional = [], parameters } = request;
  const granted = grantedScopes({ requested, optional }, chosen);
  return { ...request, parameters: { ...parameters, scope: granted.join(' ') } };
}

/**
 * The scopes that the user grants of those that are requested.
 *
 * @param chosen - those of the optional ones
 * @throws ConsentInvalidError for a scope that was not requested, and when no scope would be left
 */
export function grantedScopes(
  { optional, requested }: { readonly optional: readonly string[]; readonly requested: readonly string[] },
  chosen: readonly string[],
): string[] {
  const unknown = chosen.filter((name) => !requested.includes(name));
  if (unknown.length > 0)
    throw new ConsentInvalidError(`The app has not asked for this access: ${unknown.join(' ')}`);
  const granted = requested.filter((name) => !optional.includes(name) || chosen.includes(name));
  // A request without scopes would be one for all that the client may have.
  if (granted.length === 0)
    throw new ConsentInvalidError('Every scope was declined: grant one, or deny the request.');
  return granted;
}
