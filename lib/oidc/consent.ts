import { randomUUID } from 'node:crypto';

import type { Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';

import { consentScopes, isUnlimited, ofResource } from '../clients/consents.ts';
import type { RequestedScopes } from '../clients/consents.ts';
import type { DocumentDirectory } from '../clients/metadata-documents.ts';
import { isOnDevice, redirectHost } from '../clients/fields.ts';
import type { Client, ConsentStore } from '../contracts/index.ts';
import { InteractionExpiredError } from '../errors.ts';
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-request.ts';
import { requestOf } from './engine-request.ts';
import { besidesDefault } from './resource-parameter.ts';

/**
 * Makes the grant of an authorization request from the user's stored consent for the client, the API and the host of the
 * redirect URI. The consent may have been given in another browser.
 *
 * Each authorization gets a grant of its own, so that revoking one family of tokens affects no other browser or device. The
 * grant is stored together with its code (see adapter/credentials.ts); a request that ends in a page writes no row.
 */
export function createLoadGrant({
  clients,
  consents,
  issuer,
  requests,
}: {
  clients: DocumentDirectory;
  consents: ConsentStore;
  issuer: string;
  requests: Pick<AuthorizationRequests, 'read'>;
}): NonNullable<Configuration['loadExistingGrant']> {
  return async (ctx) => {
    const { account, client, provider, requestParamScopes } = ctx.oidc;
    const consented = await findConsentedScopes(ctx);
    if (!consented) return undefined;
    const requested = requestedConsent(ctx);
    // A token without scopes may do more than one with scopes, so a consent to some scopes does not cover it.
    if (
      requested.scopes.length === 0 &&
      !requested.limited &&
      consented !== 'all' &&
      !isUnlimited({ scopes: consented }, requested.resource)
    ) {
      return undefined;
    }
    const grant = new provider.Grant({ accountId: account!.accountId, clientId: client!.clientId });
    grant.jti = randomUUID();
    const granted = [...requestParamScopes].filter(
      (scope) => consented === 'all' || consented.includes(ofResource(requested.resource, scope)),
    );
    if (granted.length > 0) grant.addResourceScope(requested.resource ?? issuer, granted.join(' '));
    allowEmptyScope(grant);
    return grant;
  };

  async function findConsentedScopes(
    ctx: KoaContextWithOIDC,
  ): Promise<readonly string[] | 'all' | undefined> {
    const clientId = ctx.oidc.client!.clientId;
    const redirectUri = ctx.oidc.params!['redirect_uri'] as string;
    const stored = await clients.find(clientId);
    if (stored?.client.firstParty && !isOnDevice(redirectUri, stored.client)) return 'all';
    // A client that was deleted and is known again by its document begins anew, whatever the deletion has left.
    if (!stored || !clients.isStored(stored)) return undefined;
    const consent = await consents.find(ctx.oidc.account!.accountId, clientId);
    if (!consent) return undefined;
    requestOf(ctx).recordConsent(consent);
    const host = redirectHost(redirectUri, stored.client);
    if (host !== undefined) return consent.hosts[ofResource(requestedConsent(ctx).resource, host)];
    return (await hasJustConsented(ctx)) ? consentScopes(requestedConsent(ctx)) : undefined;
  }

  async function hasJustConsented(ctx: KoaContextWithOIDC): Promise<boolean> {
    const proof = ctx.query[CONSENT_PROOF];
    return isConsentProofFor(typeof proof === 'string' ? await requests.read(proof) : undefined, {
      parameters: { ...ctx.oidc.params },
      sessionUid: ctx.oidc.session!.uid,
      limited: requestOf(ctx).isLimitedToNoScope,
    });
  }

  function requestedConsent(ctx: KoaContextWithOIDC): RequestedScopes {
    const scopes = [...ctx.oidc.requestParamScopes];
    return {
      resource: besidesDefault(ctx.oidc.params!['resource'] as string, issuer),
      scopes,
      limited: scopes.length > 0 || requestOf(ctx).isLimitedToNoScope,
    };
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

/**
 * Adds a consent to the consents that the user gave the client before.
 *
 * @throws InteractionExpiredError when the client registered itself and was removed
 * @returns `false` when the next request has to ask again, because its redirect URI is not a registered one, such as a loopback
 * URI with another port
 */
export async function rememberConsent(
  consents: Pick<ConsentStore, 'add'>,
  consented: RequestedScopes & { userId: string; client: Client; redirectUri: string; at: number },
): Promise<boolean> {
  const scopes = consentScopes(consented);
  const host = redirectHost(consented.redirectUri, consented.client);
  const isStored = await consents.add(
    {
      userId: consented.userId,
      clientId: consented.client.id,
      scopes,
      hosts: host === undefined ? {} : { [ofResource(consented.resource, host)]: scopes },
      createdAt: consented.at,
      updatedAt: consented.at,
      lastUsedAt: undefined,
    },
    { registration: consented.client.registration === 'dynamic' },
  );
  // The app was removed in the meantime.
  if (!isStored) throw new InteractionExpiredError();
  return host !== undefined;
}

/** The parameter with the proof that the user has just consented to the request. */
export const CONSENT_PROOF = 'consent_proof';

// No check of the engine has this name, so the JWT in the URL of a consent page is not accepted as a proof.
const CONSENTED = 'consented';

/**
 * The proof that the user consented to one request, for redirect URIs whose consent cannot be remembered. It is bound to the
 * client, the redirect URI, the API, the scopes, the PKCE challenge and the session. Sent again, it only gives another code that the
 * same client can redeem.
 */
export function toConsentProof({ limited, parameters, session }: AuthorizationRequest): AuthorizationRequest {
  return {
    prompt: 'consent',
    reasons: [CONSENTED],
    parameters: boundParameters(parameters),
    session,
    limited,
  };
}

/** Whether this is the proof of consent for the request. */
function isConsentProofFor(
  proof: AuthorizationRequest | undefined,
  request: { parameters: Record<string, unknown>; sessionUid: string; limited: boolean },
): boolean {
  return (
    proof?.reasons[0] === CONSENTED &&
    proof.session?.uid === request.sessionUid &&
    (proof.limited ?? false) === request.limited &&
    BOUND_PARAMETERS.every((name) => proof.parameters[name] === request.parameters[name])
  );
}

const BOUND_PARAMETERS = ['client_id', 'redirect_uri', 'resource', 'scope', 'code_challenge'] as const;

function boundParameters(parameters: AuthorizationRequest['parameters']): Record<string, string> {
  const found = BOUND_PARAMETERS.map((name) => [name, parameters[name]] as const);
  return Object.fromEntries(
    found.filter((entry): entry is [(typeof BOUND_PARAMETERS)[number], string] => entry[1] !== undefined),
  );
}
