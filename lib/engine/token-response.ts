import type { KoaContextWithOIDC } from 'oidc-provider';

import { StorageError } from '../errors.ts';
import { isGrantTypeRefused } from './request-facts.ts';
import { stateOf } from './request-state.ts';

/** Completes what the engine answered at an endpoint for clients. */
export function completeResponse(ctx: KoaContextWithOIDC): void {
  const state = stateOf(ctx);
  if (state.failure instanceof StorageError) return sayUnavailable(ctx);
  if (state.retryAfter !== undefined) ctx.set('Retry-After', String(state.retryAfter));
  // RFC 7009 leaves the body open; clients that read every answer as JSON fail over none at all.
  if (ctx.oidc.route === 'revocation' && ctx.status === 200) ctx.body = {};
  if (ctx.oidc.route !== 'token') return;
  if (ctx.status !== 200) return sayUnauthorizedClient(ctx);
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
