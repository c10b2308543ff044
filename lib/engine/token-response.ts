import { errors } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { CredentialStore } from '../contracts.ts';
import { StorageError } from '../errors.ts';
import { redeem } from './redemption.ts';
import type { RedemptionSettings } from './redemption.ts';
import { stateOf } from './request-state.ts';

/** Completes what the engine answered at an endpoint for clients. */
export async function completeResponse(
  ctx: KoaContextWithOIDC,
  credentials: CredentialStore,
  settings: RedemptionSettings,
): Promise<void> {
  const state = stateOf(ctx);
  if (state.failure instanceof StorageError) return sayUnavailable(ctx);
  // RFC 7009 leaves the body open; clients that read every answer as JSON fail over none at all.
  if (ctx.oidc.route === 'revocation' && ctx.status === 200) ctx.body = {};
  if (ctx.oidc.route !== 'token') return;
  if (ctx.status !== 200) return sayUnauthorizedClient(ctx);
  try {
    // Normally done when the refresh token was saved; a configuration without refresh tokens gets its one winner here.
    await redeem(credentials, state, settings);
  } catch (error) {
    if (!(error instanceof errors.InvalidGrant)) throw error;
    ctx.status = 400;
    ctx.body = { error: error.error, error_description: error.error_description };
    return;
  }
  if (state.successor !== undefined) {
    ctx.body = { ...(ctx.body as object), refresh_token: state.successor };
  }
}

function sayUnavailable(ctx: KoaContextWithOIDC): void {
  ctx.status = 503;
  ctx.set('Retry-After', '1');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'the server cannot reach its storage' };
}

/** The engine calls a grant type that is not the client's `invalid_request`; RFC 6749 section 5.2 has a code for it. */
function sayUnauthorizedClient(ctx: KoaContextWithOIDC): void {
  if (!isGrantTypeRefused(ctx)) return;
  ctx.body = { error: 'unauthorized_client', error_description: 'this client may not use this grant type' };
}

/** Whether the engine has refused a token because its client may not use the grant type. */
export function isGrantTypeRefused(ctx: KoaContextWithOIDC): boolean {
  const { client, params } = ctx.oidc;
  const grantType = params?.['grant_type'];
  return (
    (ctx.body as { error?: string } | undefined)?.error === 'invalid_request' &&
    typeof grantType === 'string' &&
    GRANT_TYPES.has(grantType) &&
    client?.grantTypeAllowed(grantType) === false
  );
}

const GRANT_TYPES = new Set(['authorization_code', 'refresh_token', 'client_credentials']);
