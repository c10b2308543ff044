import type { KoaContextWithOIDC } from 'oidc-provider';

import { scopeLimit } from '../clients/consents.ts';
import type { ScopeLimit } from '../clients/consents.ts';
import type { AuthorizationRequest } from '../contracts/browser-request.ts';
import type { Assignment, Client, ConsentForm, InteractionScope } from '../contracts/index.ts';
import type { ApiTool } from '../contracts/server-parts.ts';
import { vouchedForBy } from '../contracts/trust.ts';
import { ConsentInvalidError, InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { engineRequestOf } from '../engine/request.ts';
import { checkedBoxes } from '../http/form.ts';
import { effectiveLifetimes } from '../token/access-token.ts';
import { isIdentityScope, requestedScopes, splitScope, toScope } from '../token/scopes.ts';

/**
 * What the consent page of a request asks for. It is stored with the request, so that the consent is the one that the page showed
 * even when the scopes of the client, or those of the server on another node, are different meanwhile.
 *
 * When the user has consented to all scopes, and the client asks again with `prompt=consent`, the page asks for all of them. None of
 * these can be declined: a consent is withdrawn by disconnecting the app, which revokes its tokens too.
 *
 * Where agents call tools, users can let them only look: each scope that may change something can be declined, whether the host has said
 * so or not, because an agent that calls a tool asks for the scope of it.
 *
 * @param options.resources - the APIs with their scopes
 * @param tools - of each API
 */
export function consentQuestion(
  ctx: KoaContextWithOIDC,
  { issuer, resources }: ResolvedOptions,
  tools: ReadonlyMap<string, readonly ApiTool[]>,
): Pick<AuthorizationRequest, 'limited' | 'consented' | 'optional'> {
  const scopesByResource = Object.values(ctx.oidc.entities.Grant?.resources ?? {});
  const granted = new Set(scopesByResource.flatMap((scope) => scope.split(' ')));
  const { resource, scopes } = resources.get(
    (ctx.oidc.params?.['resource'] as string | undefined) ?? issuer,
  )!;
  const requested = [...ctx.oidc.requestParamScopes];
  const ofApi = tools.get(resource) ?? [];
  const looks = (name: string): boolean => usesOf(scopes.get(name), ofApi).readOnly;
  const canOnlyLook = requested.some((name) => scopes.has(name) && looks(name));
  const asked = requested.filter((name) => !granted.has(name));
  const consented = asked.length > 0 ? requested.filter((name) => granted.has(name)) : [];
  const optional = asked.filter(
    (name) =>
      scopes.get(name)?.optional === true ||
      (ofApi.length > 0 && canOnlyLook && scopes.has(name) && !looks(name)),
  );
  return {
    ...(engineRequestOf(ctx).isLimitedToNoScope && { limited: true }),
    ...(consented.length > 0 && { consented }),
    ...(optional.length > 0 && { optional }),
  };
}

/** The parameters of an authorization request as they are to be sent again: with `offline_access`, which the engine's do not have. */
export function parametersOf(ctx: KoaContextWithOIDC): Readonly<Record<string, string | undefined>> {
  const parameters = ctx.oidc.params as Readonly<Record<string, string | undefined>>;
  return { ...parameters, scope: toScope(splitScope(parameters['scope']), engineRequestOf(ctx)) };
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

// Numbered, because a scope may contain characters that field names cannot. A value, not the number, is the scope.
const SCOPE_FIELD = 'scope-';

/** The scopes that a posted form grants: those of its field `access`, else those whose boxes are checked. */
export function checkedScopes(posted: Readonly<Record<string, string>>): readonly string[] {
  const named = splitScope(posted['access']);
  return named.length > 0 ? named : checkedBoxes(posted, SCOPE_FIELD);
}

/** What agents can do with a scope. A permission that no tool needs may change anything. */
function usesOf(
  { permissions }: { readonly permissions: readonly string[] } = { permissions: [] },
  ofApi: readonly ApiTool[],
): Pick<InteractionScope, 'tools' | 'readOnly'> {
  const given = ofApi.filter(({ permission }) => permissions.includes(permission));
  const isOfTool = (name: string): boolean => given.some(({ permission }) => permission === name);
  return {
    tools: given.map(({ title }) => title),
    readOnly: permissions.every(isOfTool) && given.every(({ readOnly }) => readOnly),
  };
}

/** Whether all that was asked for could be declined, and was. */
export function isNothingLeft(
  scopes: readonly Pick<InteractionScope, 'optional'>[] | undefined,
  chosen: readonly string[],
): boolean {
  return (
    scopes !== undefined &&
    scopes.length > 0 &&
    chosen.length === 0 &&
    scopes.every(({ optional }) => optional)
  );
}

/** Whom a page asks, and about which client. */
export interface AskedOf {
  readonly client: Client;
  /** The tools of the API; `undefined` where it has none. */
  readonly tools: readonly ApiTool[] | undefined;
  /** The roles and permissions that the user has now. */
  readonly assignment: () => Promise<Assignment | undefined>;
}

/**
 * The access as a page shows it, with the boxes that begin checked. Where the platform does not vouch for the client, users check each box
 * themselves, unless the one scope is all that they are asked for.
 *
 * @throws InteractionExpiredError when the API was removed from the options meanwhile
 */
export async function describeAccess(
  { consented, isLimitedToNone, optional, resource, scopes }: AskedAccess,
  { assignment, client, tools = [] }: AskedOf,
  { aboutUser, gate, issuer, resources }: ResolvedOptions,
): Promise<Pick<ConsentForm, 'resource' | 'scopes' | 'permissions' | 'lifetime'>> {
  const api = resources.get(resource);
  if (!api) throw new InteractionExpiredError();
  const { accessToken, refreshTokenAbsolute } = effectiveLifetimes(client, api.lifetimes);
  const limit = scopeLimit(scopes, isLimitedToNone);
  const assigned = limit === undefined ? await assignment() : undefined;
  const held = assigned ? [...gate.effectivePermissions(assigned).keys()] : [];
  const checked = vouchedForBy(client) === 'platform' || scopes.length === 1;
  return {
    resource: resource === issuer ? undefined : { resource, name: api.name },
    scopes: limit?.map((name) => {
      const isOptional = optional.includes(name);
      const asked = {
        name,
        // Another node may define scopes that this one does not.
        description: (api.scopes.get(name) ?? aboutUser?.scopes.get(name))?.description ?? name,
        aboutUser: isIdentityScope(name, aboutUser),
        optional: isOptional,
        field: isOptional ? `${SCOPE_FIELD}${optional.indexOf(name)}` : undefined,
        checked: isOptional && checked,
        consented: consented.includes(name),
      };
      return Object.assign(asked, usesOf(api.scopes.get(name), tools));
    }),
    permissions: held.map((name) => ({ name, description: gate.permissions[name]!.description })),
    lifetime: Math.max(accessToken, refreshTokenAbsolute),
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
