import type { KoaContextWithOIDC } from 'oidc-provider';

import { errors } from '../../engine/oidc-provider.ts';
import type { AuthenticatedTokenRequest } from '../../engine/part.ts';
import { checkOneResource, createNameResources, unknownResource } from '../../engine/resource-parameter.ts';
import type { ResolvedOptions, ResolvedResource } from '../../options/resolved-options.ts';
import { allowedScopes, defaultResource, splitScope } from '../../token/scopes.ts';
import { audiencesOf, isOnlyFor, notAccepted } from './assertion.ts';
import type { IdJagSettings } from './options.ts';
import type { AssertionClaims } from './types.ts';

/** What an ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant-04) gives a client. */
export interface AssertedAccess {
  readonly api: ResolvedResource;
  readonly scopes: readonly string[];
}

/** @throws errors of the engine when the assertion is not for this client, or gives it nothing */
export function accessOf(
  ctx: KoaContextWithOIDC,
  { client: { client } }: AuthenticatedTokenRequest,
  {
    claims,
    options,
    settings,
  }: {
    readonly claims: AssertionClaims;
    readonly options: ResolvedOptions;
    readonly settings: IdJagSettings;
  },
): AssertedAccess {
  if (!client.confidential || client.grantType !== 'authorization_code')
    throw new errors.UnauthorizedClient('only confidential clients of users may use this assertion');
  if (!isOnlyFor(claims['aud'], audiencesOf(settings, options.issuer)))
    throw notAccepted('its aud is not this server alone');
  if (claims['client_id'] !== client.id) throw notAccepted('it is for another client (client_id)');
  checkTenant(claims, settings);
  checkOneResource(ctx);
  const { resource, scope } = ctx.oidc.params!;
  const asserted = assertedScopes(claims, settings);
  const requested = splitScope(scope);
  const named = resourceOf(claims, resource, options);
  const names = requested.length > 0 ? requested : asserted;
  const api = options.resources.get(named ?? defaultResource(client, names, options));
  if (!api) throw unknownResource(named!);
  const { scopes: ofClient } = allowedScopes(client, api, options);
  const scopes = names.filter((name) => asserted.includes(name) && ofClient.includes(name));
  if (scopes.length > 0) return { api, scopes };
  throw new errors.InvalidScope('the assertion gives none of the scopes to this client', names.join(' '));
}

function checkTenant({ aud_tenant: ours, tenant }: AssertionClaims, { tenants }: IdJagSettings): void {
  if (ours !== undefined) throw notAccepted('it is for a tenant of this server (aud_tenant), which has none');
  const isKnown = tenants ? tenants.some((one) => one === tenant) : tenant === undefined;
  if (!isKnown) throw notAccepted('the issuer does not speak for its tenant here');
}

/** The one API that the assertion and the request name. `undefined`: neither names one */
function resourceOf(
  { resource }: AssertionClaims,
  requested: unknown,
  options: ResolvedOptions,
): string | undefined {
  const [named, ...others]: unknown[] = [resource].flat();
  if (others.length > 0 || !['string', 'undefined'].includes(typeof named))
    throw notAccepted('it is for several resources');
  if (named === undefined) return requested as string | undefined;
  // As the resource of the request, by its URL in the options.
  const parameters = new URLSearchParams({ resource: named as string });
  createNameResources(options)?.(parameters);
  const url = parameters.get('resource')!;
  if (requested === undefined || requested === url) return url;
  throw new errors.InvalidTarget('the assertion is for another resource');
}

/** The scopes that the issuer gives: a list without names gives none. */
function assertedScopes({ scope }: AssertionClaims, { scopes }: IdJagSettings): readonly string[] {
  if (scope === undefined) return scopes;
  if (typeof scope !== 'string') throw notAccepted('its scope is not a text');
  return splitScope(scope).filter((name) => scopes.includes(name));
}
