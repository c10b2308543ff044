import type { Provider } from 'oidc-provider';

import { denialOf } from './request-facts.ts';
import { stateOf } from './request-state.ts';

/** Remembers why the engine refuses requests or fails at them, for when they are answered. */
export function noteDenials(provider: Provider): void {
  provider.on('grant.error', (ctx, error) => {
    stateOf(ctx).denial = denialOf(ctx, error);
  });
  provider.on('revocation.error', (ctx, error) => {
    stateOf(ctx).denial = denialOf(ctx, error);
  });
  provider.on('introspection.error', (ctx, error) => {
    stateOf(ctx).denial = denialOf(ctx, error);
  });
  provider.on('authorization.error', (ctx, error) => {
    stateOf(ctx).denial = denialOf(ctx, error);
  });
  provider.on('grant.revoked', (ctx, grantId) => {
    stateOf(ctx).revokedGrantId = grantId;
  });
  provider.on('server_error', (ctx, error) => {
    stateOf(ctx).failure = error;
  });
}
