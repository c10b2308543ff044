import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { Logger } from '../contracts.ts';
import { clientIdOf, grantTypeOf, reasonOf } from './request-facts.ts';
import { stateOf } from './request-state.ts';

/** Writes a line for each token issued and each request refused, with the reason that the client is not told. */
export function logEvents(provider: Provider, logger: Logger): void {
  provider.on('grant.success', (ctx) => {
    logger.info(request(ctx), 'token issued');
  });
  provider.on('grant.error', (ctx, error) => {
    logger.info({ ...request(ctx), error: error.error, ...reasonOf(ctx, error) }, 'token refused');
  });
  provider.on('authorization.error', (ctx, error) => {
    logger.info({ ...request(ctx), error: error.error, ...reasonOf(ctx, error) }, 'authorization refused');
  });
  provider.on('grant.revoked', (ctx, grantId) => {
    const level = ctx.oidc.route === 'revocation' ? 'info' : 'warn';
    logger[level]({ ...request(ctx), grant_id: grantId }, 'grant revoked');
  });
  provider.on('server_error', (ctx, error) => {
    stateOf(ctx).failure = error;
    logger.error({ ...request(ctx), err: error }, 'request failed');
  });
}

function request(ctx: KoaContextWithOIDC): Record<string, unknown> {
  const grantType = grantTypeOf(ctx);
  return {
    route: ctx.oidc.route,
    client_id: clientIdOf(ctx),
    ...(grantType === undefined ? {} : { grant_type: grantType }),
    reference: stateOf(ctx).reference,
  };
}
