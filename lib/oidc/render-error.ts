import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { PageError, Pages } from '../contracts/index.ts';
import { GatehouseError, InteractionExpiredError, StorageError, TooManyAttemptsError } from '../errors.ts';
import { clientEndpointAt } from './endpoints.ts';
import { requestOf } from './engine-request.ts';

/** Renders the engine's errors: a page for users, and JSON at the endpoints for clients whatever their `Accept` field says. */
export function createRenderError(pages: Pages): NonNullable<Configuration['renderError']> {
  return async (ctx, out, error) => {
    if (clientEndpointAt(ctx.path) || ctx.oidc.route === 'jwks' || ctx.oidc.route === 'discovery') {
      ctx.body = out;
      return;
    }
    const { host, outcome, requestId } = requestOf(ctx);
    // The response is a redirect to the same URL (see middleware.ts).
    if (outcome.mustRestart) return;
    outcome.showPage();
    await showError(pages, host, error, {
      status: ctx.status,
      error: out.error,
      description: out.error_description ?? '',
      reference: requestId,
    });
  };
}

/** Shows the error page, with the status and the error code that belong to the error's class. */
export async function showError(pages: Pages, ctx: Context, error: unknown, page: PageError): Promise<void> {
  if (error instanceof StorageError) {
    ctx.set('Retry-After', '1');
    await pages.error(ctx, { ...page, status: 503, error: 'temporarily_unavailable', description: '' });
  } else if (error instanceof TooManyAttemptsError) {
    ctx.set('Retry-After', String(error.retryAfter));
    await pages.error(ctx, { ...page, status: 429, error: 'too_many_attempts' });
  } else if (error instanceof errors.SessionNotFound || error instanceof InteractionExpiredError) {
    await pages.error(ctx, { ...page, status: 400, error: 'interaction_expired' });
  } else {
    await pages.error(ctx, page);
  }
}

/**
 * The 4xx status of an error that the caller caused, such as 413 of a body parser; `undefined` for a failure of the server. As
 * in Koa, `expose` marks an error of the caller.
 */
export function clientErrorStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const isCallers = error instanceof GatehouseError || ('expose' in error && error.expose === true);
  const { status } = error;
  return isCallers && typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

/**
 * Shows errors of the authorization endpoint on a page when no user is logged in, instead of redirecting to the client:
 * otherwise the owner of a registered client could make links to this server that redirect anyone without interaction (RFC 9700
 * section 4.11.2). A request with `prompt=none` shows no page, so its error is still returned to the client.
 */
export function preventOpenRedirects(provider: Provider): void {
  provider.on('authorization.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    if (ctx.oidc.session?.accountId === undefined && !isSilent(ctx)) error.allow_redirect = false;
  });
}

function isSilent(ctx: KoaContextWithOIDC): boolean {
  const prompt = ctx.oidc.params?.['prompt'] ?? ctx.query['prompt'];
  return typeof prompt === 'string' && prompt.split(' ').includes('none');
}
