import type { KoaContextWithOIDC } from 'oidc-provider';

import { scopeLimit } from '../clients/consents.ts';
import type { ScopeLimit } from '../clients/consents.ts';
import type { Interaction } from '../contracts/index.ts';
import { ConsentInvalidError, InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { requestOf } from '../engine/request.ts';
import { isIdentityScope, requestedScopes, splitScope, toScope } from '../token/scopes.ts';

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
  { issuer, resources }: ResolvedOptions,
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

/** The parameters of an authorization request as they are to be sent again: with `offline_access`, which the engine's do not have. */
export function parametersOf(ctx: KoaContextWithOIDC): Readonly<Record<string, string | undefined>> {
  const parameters = ctx.oidc.params as Readonly<Record<string, string | undefined>>;
  return { ...parameters, scope: toScope(splitScope(parameters['scope']), requestOf(ctx)) };
}

/** The access that a user is asked to consent to, by an authorization request of a browser or by a device. */
export interface AskedAccess {
  /** The URL of the API. */
  readonly resource: string;
  /** All that are requested. */
  readonly scopes: readonly string[];
  /** The request names no scope and the client is registered for none. */
  readonly isLimitedToNone: boolean;
  /** The scopes that the user has consented to before. The page asks for the other ones only. */
  readonly consented: readonly string[];
  /** The scopes that the user can decline. */
  readonly optional: readonly string[];
}

/** What an authorization request asks for. */
export function askedAccess(
  { consented = [], limited, optional = [], parameters }: AuthorizationRequest,
  issuer: string,
): AskedAccess {
  const { resource = issuer, scope } = parameters;
  return {
    resource,
    scopes: requestedScopes(scope).scopes ?? [],
    isLimitedToNone: limited === true,
    consented,
    optional,
  };
}

/**
 * The access as a page shows it.
 *
 * @throws InteractionExpiredError when the API was removed from the options meanwhile
 */
export function describeAccess(
  { consented, isLimitedToNone, optional, resource, scopes }: AskedAccess,
  { issuer, aboutUser, resources }: ResolvedOptions,
): Pick<Interaction, 'resource' | 'scopes' | 'limited'> {
  const api = resources.get(resource);
  if (!api) throw new InteractionExpiredError();
  return {
    resource: resource === issuer ? undefined : { resource, name: api.name },
    limited: scopeLimit(scopes, isLimitedToNone) !== undefined,
    scopes: scopes.map((name) => ({
      name,
      // Another node may define scopes that this one does not.
      description: (api.scopes.get(name) ?? aboutUser?.scopes.get(name))?.description ?? name,
      aboutUser: isIdentityScope(name, aboutUser),
      optional: optional.includes(name),
      consented: consented.includes(name),
    })),
  };
}

/** What a user has decided. */
export interface DecidedConsent {
  /** All requested scopes but those that the user has declined. */
  readonly granted: readonly string[];
  /** What the user consents to now. Limited to none beside granted scopes: the user has consented to all of these before. */
  readonly limit: ScopeLimit;
}

/**
 * Decides what a user consents to.
 *
 * @param chosen - the scopes that the user grants of those that can be declined; `undefined`: all
 * @throws ConsentInvalidError for a scope that was not requested, and when no scope would be left
 */
export function decideConsent(
  { consented, isLimitedToNone, optional, scopes }: AskedAccess,
  chosen: readonly string[] = scopes,
): DecidedConsent {
  const unknown = scopes.length > 0 ? chosen.filter((name) => !scopes.includes(name)) : [];
  if (unknown.length > 0)
    throw new ConsentInvalidError(`The app has not asked for this access: ${unknown.join(' ')}`);
  const granted = scopes.filter((name) => !optional.includes(name) || chosen.includes(name));
  // A request without scopes would be one for all that the client may have.
  if (granted.length === 0 && scopes.length > 0)
    throw new ConsentInvalidError('Every scope was declined: grant one, or deny the request.');
  const limit = scopeLimit(granted, isLimitedToNone);
  return { granted, limit: limit?.filter((name) => !consented.includes(name)) };
}
