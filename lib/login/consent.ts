import { randomUUID } from 'node:crypto';

import type { Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';

import { consentParts, consentScopes, ofResource, scopeLimit } from '../clients/consents.ts';
import type { ConsentedAccess } from '../clients/consents.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import { isOnDevice, redirectHost } from '../clients/redirect-uris.ts';
import type { AuthorizationRequest } from '../contracts/browser-request.ts';
import { now } from '../contracts/clock.ts';
import type { Client, Consent } from '../contracts/index.ts';
import { errors } from '../engine/oidc-provider.ts';
import { InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { parametersOf } from './asked-scopes.ts';
import type { AuthorizationRequests } from './authorization-request.ts';
import { engineRequestOf } from '../engine/request.ts';
import { besidesDefault } from '../engine/resource-parameter.ts';

/**
 * Makes the grant of an authorization request from the user's stored consent for the client, the API and the host of the
 * redirect URI, which was found together with the session. The consent may have been given in another browser.
 *
 * Each authorization gets a grant of its own, so that revoking one family of tokens affects no other browser or device. The
 * grant is stored together with its code (see token/models.ts); a request that ends in a page writes no row.
 */
export function createLoadGrant({
  clients,
  issuer,
  aboutUser,
  requests,
}: Pick<ResolvedOptions, 'issuer' | 'aboutUser'> & {
  clients: Pick<ClientDirectory, 'isStored'>;
  requests: Pick<AuthorizationRequests, 'read'>;
}): NonNullable<Configuration['loadExistingGrant']> {
  return async (ctx) => {
    if (hasAnswered(ctx, DENIED)) {
      engineRequestOf(ctx).isDenied = true;
      throw new errors.AccessDenied(DENIAL);
    }
    const { account, client, provider } = ctx.oidc;
    const requested = requestedConsent(ctx);
    const parts = consentParts(requested, aboutUser);
    const consented = consentedScopes(ctx, parts);
    if (!consented) return undefined;
    // A token without scopes may do more than one with scopes, so a consent to some scopes does not cover it.
    if (requested.limit === undefined && consented !== 'all' && !includesAll(consented, requested))
      return undefined;
    const grant = new provider.Grant({ accountId: account!.accountId, clientId: client!.clientId });
    grant.jti = randomUUID();
    const granted = parts
      .flatMap(({ limit = [], resource }) =>
        limit.map((scope) => ({ scope, stored: ofResource(resource, scope) })),
      )
      .filter(({ stored }) => consented === 'all' || consented.includes(stored))
      .map(({ scope }) => scope);
    if (granted.length > 0) grant.addResourceScope(requested.resource ?? issuer, granted.join(' '));
    allowEmptyScope(grant);
    return grant;
  };

  function requestedConsent(ctx: KoaContextWithOIDC): ConsentedAccess {
    return {
      resource: besidesDefault(ctx.oidc.params!['resource'] as string, issuer),
      limit: scopeLimit([...ctx.oidc.requestParamScopes], engineRequestOf(ctx).isLimitedToNoScope === true),
    };
  }

  function consentedScopes(
    ctx: KoaContextWithOIDC,
    parts: readonly ConsentedAccess[],
  ): readonly string[] | 'all' | undefined {
    const request = engineRequestOf(ctx);
    const { client: stored, session } = request;
    if (!stored || !session)
      throw new Error('A consent is only looked for when client and session were found');
    const redirectUri = ctx.oidc.params!['redirect_uri'] as string;
    // Without a secret, another program on the device could redeem the code itself.
    if (stored.client.firstParty && (stored.client.confidential || !isOnDevice(redirectUri))) return 'all';
    const { consent } = session;
    // A client that was deleted and is known again by its document begins anew, whatever the deletion has left.
    if (!clients.isStored(stored) || consent?.clientId !== stored.client.id) return undefined;
    request.consent = consent;
    const host = redirectHost(redirectUri, stored.client);
    if (host === undefined) return hasAnswered(ctx, CONSENTED) ? parts.flatMap(consentScopes) : undefined;
    const found = parts.map(({ resource }) => consent.hosts[ofResource(resource, host)]);
    return found.some((scopes) => scopes !== undefined) ? found.flatMap((scopes) => scopes ?? []) : undefined;
  }

  function hasAnswered(ctx: KoaContextWithOIDC, answer: typeof CONSENTED | typeof DENIED): boolean {
    const { session } = ctx.oidc;
    const parameters = parametersOf(ctx);
    const { proof: sent } = engineRequestOf(ctx);
    const proof = sent === undefined ? undefined : requests.read(sent);
    return (
      proof?.reasons[0] === answer &&
      proof.session === session!.uid &&
      (proof.limited ?? false) === (engineRequestOf(ctx).isLimitedToNoScope === true) &&
      BOUND_PARAMETERS.every((name) => proof.parameters[name] === parameters[name])
    );
  }
}

// The engine refuses an authorization request for which no scope was granted (actions/authorization/interactions.js). Here such
// a request is valid: the user's own permissions apply. A space passes that check, and the engine's code that reads the scope
// later splits it at spaces.
function allowEmptyScope(grant: Grant): void {
  const filtered = grant.getOIDCScopeFiltered.bind(grant);
  grant.getOIDCScopeFiltered = (filter) => filtered(filter) || ' ';
}

/** Whether the user has not consented to this request: `createLoadGrant` gives an id only to a grant with consent. */
export function isConsentMissing(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.entities.Grant?.jti === undefined;
}

/** Whether stored scopes include those to store for a request. */
function includesAll(stored: readonly string[], requested: ConsentedAccess): boolean {
  return consentScopes(requested).every((name) => stored.includes(name));
}

/**
 * Adds a consent to the consents that the user gave the client before.
 *
 * @param consented.host - of the redirect URI. `undefined`: the next request has to ask again
 * @param consented.sequence - of the login: what a user who was ended since has consented to is not stored
 * @throws InteractionExpiredError when the source of the client stores the consent, and the client or the user was ended
 */
export async function storeConsent(
  { aboutUser, storage: { consents } }: Pick<ResolvedOptions, 'aboutUser' | 'storage'>,
  clients: Pick<ClientDirectory, 'addConsent'>,
  consented: ConsentedAccess & {
    userId: string;
    client: Client;
    host: string | undefined;
    sequence: number;
  },
): Promise<void> {
  const { client, host, sequence, userId } = consented;
  const parts = consentParts(consented, aboutUser);
  const at = now();
  const consent: Consent = {
    userId,
    clientId: client.id,
    scopes: parts.flatMap(consentScopes),
    hosts:
      host === undefined
        ? {}
        : Object.fromEntries(parts.map((part) => [ofResource(part.resource, host), consentScopes(part)])),
    createdAt: at,
    updatedAt: at,
    lastUsedAt: undefined,
  };
  const add = clients.addConsent(client);
  if (!add) await consents.add(consent, sequence);
  else if (!(await add(consent, sequence))) throw new InteractionExpiredError();
}

// No check of the engine has these names, so the request in the URL of a consent page is not accepted as a proof.
const CONSENTED = 'consented';
const DENIED = 'denied';

/** What a client is told of a user who has denied its request. */
export const DENIAL = 'the user denied the request';

/** The same of a user who has denied the request, so that the engine makes the response. */
export function toDenialProof(request: AuthorizationRequest): AuthorizationRequest {
  return { ...toConsentProof(request), reasons: [DENIED] };
}

/**
 * The proof that the user consented to one request, for redirect URIs whose consent cannot be remembered. It is bound to the
 * client, the redirect URI, the API, the scopes, the PKCE challenge and the session. Sent again, it only gives another code that the
 * same client can redeem.
 */
export function toConsentProof({ limited, parameters, session }: AuthorizationRequest): AuthorizationRequest {
  return {
    prompt: 'consent',
    reasons: [CONSENTED],
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => isBound(name))),
    session,
    limited,
  };
}

const BOUND_PARAMETERS = ['client_id', 'redirect_uri', 'resource', 'scope', 'code_challenge'] as const;

function isBound(name: string): boolean {
  return (BOUND_PARAMETERS as readonly string[]).includes(name);
}
