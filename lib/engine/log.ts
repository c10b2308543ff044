import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { Logger } from '../contracts.ts';
import { stateOf } from './request-state.ts';

/**
 * Writes a line for each token issued and each request refused, with the reason that the client is not told. Fields are
 * a fixed list: parameters hold secrets, codes and tokens, and are never logged as a whole.
 */
export function logEvents(provider: Provider, logger: Logger): void {
  provider.on('grant.success', (ctx) => {
    logger.info(request(ctx), 'token issued');
  });
  provider.on('grant.error', (ctx, error) => {
    logger.info({ ...request(ctx), ...reason(error) }, 'token refused');
  });
  provider.on('authorization.error', (ctx, error) => {
    logger.info({ ...request(ctx), ...reason(error) }, 'authorization refused');
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
  const { client, params, route } = ctx.oidc;
  const grantType = params?.['grant_type'];
  return {
    route,
    client_id: client?.clientId,
    // Only the client's own: any other text is the caller's, and may be a secret that was put into the wrong field.
    ...(typeof grantType === 'string' && client?.grantTypeAllowed(grantType)
      ? { grant_type: grantType }
      : {}),
    reference: stateOf(ctx).reference,
  };
}

function reason(error: errors.OIDCProviderError): Record<string, unknown> {
  return { error: error.error, description: error.error_description, detail: error.error_detail };
}
