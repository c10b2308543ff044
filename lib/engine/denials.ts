import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider';

import { denialOf } from './request-facts.ts';
import { stateOf } from './request-state.ts';

/** Remembers why the engine refuses requests or fails at them, for when they are answered. */
export function noteDenials(provider: Provider): void {
  provider.on('grant.error', noteDenial);
  provider.on('revocation.error', noteDenial);
  provider.on('introspection.error', noteDenial);
  provider.on('authorization.error', noteDenial);
  provider.on('grant.revoked', (ctx, grantId) => {
    stateOf(ctx).revokedGrantId = grantId;
  });
  provider.on('server_error', (ctx, error) => {
    stateOf(ctx).failure = error;
  });
}

function noteDenial(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): void {
  const state = stateOf(ctx);
  if (!state.mustBeginAgain) state.denial = denialOf(ctx, error);
}
