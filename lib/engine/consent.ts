import { randomUUID } from 'node:crypto';

import type { Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';

import { isUnlimited, toAgreement } from '../agreement.ts';
import type { Consent, ConsentStore } from '../contracts.ts';
import type { ClientDirectory } from './client-directory.ts';
import { stateOf } from './request-state.ts';

/**
 * Makes the grant of an authorization request out of what the user agreed to before, in whatever browser.
 *
 * Each authorization gets a grant of its own, so that revoking one family of tokens never touches another browser or
 * device. It is kept when its code is (see adapter/credentials.ts); a request that ends in a page leaves no row.
 */
export function createLoadGrant(
  consents: ConsentStore,
  clients: ClientDirectory,
  resource: string,
): NonNullable<Configuration['loadExistingGrant']> {
  return async (ctx) => {
    const { account, client, provider, requestParamScopes } = ctx.oidc;
    const agreed = await findAgreed(ctx);
    if (!agreed) return undefined;
    // A token without scopes may do more than one with some: who agreed to some is asked.
    if (requestParamScopes.size === 0 && agreed !== 'all' && !isUnlimited(agreed)) return undefined;
    const grant = new provider.Grant({ accountId: account!.accountId, clientId: client!.clientId });
    grant.jti = randomUUID();
    const granted = [...requestParamScopes].filter(
      (scope) => agreed === 'all' || agreed.scopes.includes(scope),
    );
    if (granted.length > 0) grant.addResourceScope(resource, granted.join(' '));
    allowEmptyScope(grant);
    return grant;
  };

  async function findAgreed(ctx: KoaContextWithOIDC): Promise<Consent | 'all' | undefined> {
    const clientId = ctx.oidc.client!.clientId;
    const stored = await clients.find(clientId);
    if (stored?.client.firstParty) return 'all';
    const agreed = await consents.find(ctx.oidc.account!.accountId, clientId);
    if (agreed) stateOf(ctx).agreed = agreed;
    return agreed;
  }
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

/** Remembers what a user agreed to, on top of what they agreed to before. */
export async function rememberConsent(
  consents: Pick<ConsentStore, 'add'>,
  agreed: { userId: string; clientId: string; scopes: readonly string[]; at: number },
): Promise<void> {
  await consents.add({
    userId: agreed.userId,
    clientId: agreed.clientId,
    scopes: toAgreement(agreed.scopes),
    createdAt: agreed.at,
    updatedAt: agreed.at,
    lastUsedAt: undefined,
  });
}
