import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { PageError, Pages } from '../contracts/index.ts';
import { GatehouseError, InteractionExpiredError, StorageError, TooManyAttemptsError } from '../errors.ts';
import { directEndpoint } from './endpoints.ts';
import { requestOf } from './engine-request.ts';

/** Shows the engine's errors: a page for people, JSON for clients whatever they accept. */
export function createRenderError(pages: Pages): NonNullable<Configuration['renderError']> {
  return async (ctx, out, error) => {
    if (directEndpoint(ctx.path) || ctx.oidc.route === 'jwks' || ctx.oidc.route === 'discovery') {
      ctx.body = out;
      return;
    }
    const { host, outcome, requestId } = requestOf(ctx);
    // The browser is told to send the request again.
    if (outcome.mustBeginAgain) return;
    outcome.showPage();
    await showError(pages, host, error, {
      status: ctx.status,
      error: out.error,
      description: out.error_description ?? '',
      reference: requestId,
    });
  };
}

/** Shows an error page, with the words for what went wrong. */
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
 * The status of what a page refuses, such as 413 of a body parser; `undefined` for a fault of the server. As in Koa, an
 * error says with `expose` that it is the caller's.
 */
export function clientErrorStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const isCallers = error instanceof GatehouseError || ('expose' in error && error.expose === true);
  const { status } = error;
  return isCallers && typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

/**
 * Shows errors of the authorization endpoint to people who are not signed in, instead of sending them to the app: whoever
 * registers an app could otherwise make links to this server that lead anybody anywhere at once (RFC 9700 section 4.11.2).
 * An app that asks with `prompt=none` shows no page, so it gets its answer.
 */
export function answerStrangersHere(provider: Provider): void {
  provider.on('authorization.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    if (ctx.oidc.session?.accountId === undefined && !isSilent(ctx)) error.allow_redirect = false;
  });
}

function isSilent(ctx: KoaContextWithOIDC): boolean {
  const prompt = ctx.oidc.params?.['prompt'] ?? ctx.query['prompt'];
  return typeof prompt === 'string' && prompt.split(' ').includes('none');
}
