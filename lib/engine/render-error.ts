import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { Configuration, ErrorOut, KoaContextWithOIDC, Provider } from 'oidc-provider';

import { mayRedirect } from '../clients/redirect-uris.ts';
import type { PageError, Pages } from '../contracts/index.ts';
import { GatehouseError, InteractionExpiredError, TooManyAttemptsError } from '../errors.ts';
import { requestIdOf } from '../http/request.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { engineRequestOf } from './request.ts';
import type { EngineRequest } from './request.ts';

/** Renders the engine's errors: a page for users, and JSON at the endpoints for clients whatever their `Accept` field says. */
export function createRenderError(pages: Pages): NonNullable<Configuration['renderError']> {
  return async (ctx, out, error) => {
    const request = engineRequestOf(ctx);
    if (request.endpoint.callers === 'clients') {
      ctx.body = out;
      return;
    }
    const { host } = request;
    // The response is a redirect to the same URL (see corrections.ts).
    if (request.mustRestart) return;
    request.hasPage = true;
    await showError(pages, host, error, {
      // The engine's status of errors such as `login_required` is that of the redirect.
      status: Math.max(ctx.status, 400),
      error: out.error,
      description: out.error_description ?? '',
      scope: refusedScope(ctx, out),
      reference: requestIdOf(host),
    });
  };
}

const LONGEST_SCOPE = 100;

/** The error names a scope that is unknown or not for the client; without one, the whole parameter is malformed. */
function refusedScope(
  { oidc: { params } }: KoaContextWithOIDC,
  { error, scope }: ErrorOut,
): string | undefined {
  const refused = scope ?? params?.['scope'];
  if (error !== 'invalid_scope' || typeof refused !== 'string') return undefined;
  return refused.length > LONGEST_SCOPE ? `${refused.slice(0, LONGEST_SCOPE - 1)}…` : refused;
}

/** Shows the error page, with the status and the error code that belong to the error's class. */
export async function showError(pages: Pages, ctx: Context, error: unknown, page: PageError): Promise<void> {
  if (isUnavailable(error)) {
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
 * Shows errors of the authorization endpoint on a page, instead of redirecting to the client, where {@link mayRedirect} says so. A request
 * with `prompt=none` shows no page, so its error is returned where no user is signed in either.
 */
export function preventOpenRedirects(provider: Provider): void {
  provider.on('authorization.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    const request = engineRequestOf(ctx);
    const { client, consent, isDenied } = request;
    // The user has pressed the button on the page, which has named where it leads.
    if (isDenied) return;
    const uri = String(ctx.oidc.params?.['redirect_uri']);
    const isKnown = ctx.oidc.session?.accountId !== undefined || isSilent(request);
    if (!client || !mayRedirect(client.client, uri, { consent, isKnown })) error.allow_redirect = false;
  });
}

function isSilent({ parameters }: EngineRequest): boolean {
  const prompt = parameters?.['prompt'];
  return typeof prompt === 'string' && prompt.split(' ').includes('none');
}
