import type { KoaContextWithOIDC } from 'oidc-provider';

import { ConsentInvalidError } from '../errors.ts';
import type { ResolvedOptions } from '../options/options.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { requestOf } from './engine-request.ts';

/**
 * What the consent page of a request asks for. It is stored with the request, so that the consent is the one that the page showed
 * even when the scopes of the client, or those of the server on another node, are different meanwhile.
 *
 * When the user has consented to all scopes, and the client asks again with `prompt=consent`, the page asks for all of them. None of
 * these can be declined: a consent is withdrawn by disconnecting the app, which revokes its tokens too.
 *
 * @param options.scopes - the scopes of the server
 */
export function consentQuestion(
  ctx: KoaContextWithOIDC,
  { scopes }: Pick<ResolvedOptions, 'scopes'>,
): Pick<AuthorizationRequest, 'limited' | 'consented' | 'optional'> {
  const granted = Object.values(ctx.oidc.entities.Grant?.resources ?? {}).flatMap((scope) =>
    scope.split(' '),
  );
  const requested = [...ctx.oidc.requestParamScopes];
  const asked = requested.filter((name) => !granted.includes(name));
  const consented = asked.length > 0 ? requested.filter((name) => granted.includes(name)) : [];
  const optional = asked.filter((name) => scopes.get(name)?.optional === true);
  return {
    ...(requestOf(ctx).isLimitedToNoScope && { limited: true }),
    ...(consented.length > 0 && { consented }),
    ...(optional.length > 0 && { optional }),
  };
}

/** All scopes of the request. */
export function requestedScopes({ parameters }: AuthorizationRequest): string[] {
  return parameters['scope']?.split(' ').filter(Boolean) ?? [];
}

/** The scopes that the page asks for. */
export function scopesToConsent(request: AuthorizationRequest): string[] {
  return requestedScopes(request).filter((name) => !request.consented?.includes(name));
}

/**
 * The request without the scopes that the user has declined: it continues as if the client had not requested them, so that the
 * code and all tokens have the granted scopes only.
 *
 * @param granted - `undefined`: all
 * @throws ConsentInvalidError for scopes that the page did not ask for, or did not let the user decline
 */
export function withGrantedScopes(
  request: AuthorizationRequest,
  granted: readonly string[] | undefined,
): AuthorizationRequest {
  if (granted === undefined) return request;
  const { consented = [], optional = [] } = request;
  const requested = requestedScopes(request);
  const unknown = granted.filter((name) => !requested.includes(name));
  if (unknown.length > 0)
    throw new ConsentInvalidError(`The app has not asked for this access: ${unknown.join(' ')}`);
  const kept = requested.filter((name) => granted.includes(name) || consented.includes(name));
  const missing = requested.filter((name) => !kept.includes(name) && !optional.includes(name));
  if (missing.length > 0)
    throw new ConsentInvalidError(`This access cannot be declined: ${missing.join(' ')}`);
  // A request without scopes would be one for all that the client may have.
  if (kept.length === 0 && requested.length > 0)
    throw new ConsentInvalidError('Grant at least one scope, or deny the request.');
  return {
    ...request,
    parameters: { ...request.parameters, ...(kept.length > 0 && { scope: kept.join(' ') }) },
  };
}
