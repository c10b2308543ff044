import { randomUUID } from 'node:crypto';

import type { Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';

import { isUnlimited, consentScopes } from '../clients/consents.ts';
import type { RequestedScopes } from '../clients/consents.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import { isOnDevice, redirectHost } from '../clients/fields.ts';
import type { Client, ConsentStore } from '../contracts/index.ts';
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-request.ts';
import { requestOf } from './engine-request.ts';

/**
 * Makes the grant of an authorization request out of what the user agreed to before, in whatever browser, for where this
 * request leads.
 *
 * Each authorization gets a grant of its own, so that revoking one family of tokens never touches another browser or
 * device. It is kept when its code is (see adapter/credentials.ts); a request that ends in a page leaves no row.
 */
export function createLoadGrant({
  clients,
  consents,
  requests,
  resource,
}: {
  clients: ClientDirectory;
  consents: ConsentStore;
  requests: Pick<AuthorizationRequests, 'read'>;
  resource: string;
}): NonNullable<Configuration['loadExistingGrant']> {
  return async (ctx) => {
    const { account, client, provider, requestParamScopes } = ctx.oidc;
    const consented = await findConsentedScopes(ctx);
    if (!consented) return undefined;
    const wanted = wantedBy(ctx);
    // A token without scopes may do more than one with some: who agreed to some is asked.
    if (
      wanted.scopes.length === 0 &&
      !wanted.limited &&
      consented !== 'all' &&
      !isUnlimited({ scopes: consented })
    ) {
      return undefined;
    }
    const grant = new provider.Grant({ accountId: account!.accountId, clientId: client!.clientId });
    grant.jti = randomUUID();
    const granted = [...requestParamScopes].filter(
      (scope) => consented === 'all' || consented.includes(scope),
    );
    if (granted.length > 0) grant.addResourceScope(resource, granted.join(' '));
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
    const consent = stored && (await consents.find(ctx.oidc.account!.accountId, clientId));
    if (!consent) return undefined;
    requestOf(ctx).foundConsent(consent);
    const host = redirectHost(redirectUri, stored.client);
    if (host !== undefined) return consent.hosts[host];
    return (await hasJustConsented(ctx)) ? consentScopes(wantedBy(ctx)) : undefined;
  }

  async function hasJustConsented(ctx: KoaContextWithOIDC): Promise<boolean> {
    const proof = ctx.query[PROOF];
    return isProofOf(typeof proof === 'string' ? await requests.read(proof) : undefined, {
      parameters: { ...ctx.oidc.params },
      sessionUid: ctx.oidc.session!.uid,
      limited: requestOf(ctx).asksForNothing,
    });
  }
}

function wantedBy(ctx: KoaContextWithOIDC): RequestedScopes {
  const scopes = [...ctx.oidc.requestParamScopes];
  return { scopes, limited: scopes.length > 0 || requestOf(ctx).asksForNothing };
}

// The engine refuses an authorization request that ends with no scope granted (actions/authorization/interactions.js).
// Here that is a normal request: the user's own permissions apply. A blank passes that check, and every later reader
// of the scope splits it away.
function allowEmptyScope(grant: Grant): void {
  const filtered = grant.getOIDCScopeFiltered.bind(grant);
  grant.getOIDCScopeFiltered = (filter) => filtered(filter) || ' ';
}

/** Tells whether the user never agreed to such a request: without an agreement the grant has no id. */
export function isConsentMissing(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.entities.Grant?.jti === undefined;
}

/**
 * Remembers what a user agreed to, on top of what they agreed to before.
 *
 * @returns `false` when they will be asked again all the same, because of where it leads
 */
export async function rememberConsent(
  consents: Pick<ConsentStore, 'add'>,
  consented: RequestedScopes & { userId: string; client: Client; redirectUri: string; at: number },
): Promise<boolean> {
  const scopes = consentScopes(consented);
  const host = redirectHost(consented.redirectUri, consented.client);
  await consents.add({
    userId: consented.userId,
    clientId: consented.client.id,
    scopes,
    hosts: host === undefined ? {} : { [host]: scopes },
    createdAt: consented.at,
    updatedAt: consented.at,
    lastUsedAt: undefined,
  });
  return host !== undefined;
}

/** The parameter in which a request brings the proof along that its user has just agreed to it. */
export const PROOF = 'consent_proof';

// No check of the engine has this name, so a page's own request is no proof.
const CONSENTED = 'consented';

/**
 * What proves for one request that it was agreed to, where that cannot be remembered: with its own redirect URI, scopes and
 * PKCE challenge, in the session that was asked. Once more it gives no more than a code that only its own app can redeem.
 */
export function toProof({ limited, parameters, session }: AuthorizationRequest): AuthorizationRequest {
  return { prompt: 'consent', reasons: [CONSENTED], parameters: essence(parameters), session, limited };
}

/** Whether this is the proof for a request. */
function isProofOf(
  proof: AuthorizationRequest | undefined,
  request: { parameters: Record<string, unknown>; sessionUid: string; limited: boolean },
): boolean {
  return (
    proof?.reasons[0] === CONSENTED &&
    proof.session?.uid === request.sessionUid &&
    (proof.limited ?? false) === request.limited &&
    MEMBERS.every((name) => proof.parameters[name] === request.parameters[name])
  );
}

const MEMBERS = ['client_id', 'redirect_uri', 'scope', 'code_challenge'] as const;

function essence(parameters: AuthorizationRequest['parameters']): Record<string, string> {
  const found = MEMBERS.map((name) => [name, parameters[name]] as const);
  return Object.fromEntries(
    found.filter((entry): entry is [(typeof MEMBERS)[number], string] => entry[1] !== undefined),
  );
}
