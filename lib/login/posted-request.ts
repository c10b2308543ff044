import type { Middleware } from 'koa';

import { BodyError } from '../errors.ts';
import { PATHS } from '../engine/endpoints.ts';
import { readForm } from '../http/form.ts';
import type { AuthorizationRequests } from './authorization-request.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/** The endpoints for browsers to which apps may post (OpenID Connect Core 1.0 section 3.1.2.1, RP-Initiated Logout 1.0 section 2). */
const POSTED: ReadonlySet<string> = new Set([PATHS.authorization, PATHS.end_session]);

// Node accepts 16 KiB of header fields together with the URL.
const MAX_QUERY = 13_000;

/**
 * Makes the middleware that sends a browser which an app has made post a request on to the same URL, with the parameters in the query,
 * because browsers send the cookie of the login session with no post of another site. Any other request passes; the form of the logout
 * page has no fields.
 */
export function createRedirectPosted(
  { issuer }: Pick<ResolvedOptions, 'issuer'>,
  { queryOf }: Pick<AuthorizationRequests, 'queryOf'>,
): Middleware {
  return async function redirectPosted(ctx, next) {
    const path = ctx.path.toLowerCase().replace(/\/$/, '');
    if (ctx.method !== 'POST' || !POSTED.has(path)) return next();
    const query = queryOf(await readForm(ctx));
    if (query === '') return next();
    if (query.length > MAX_QUERY)
      throw new BodyError(`The request is too long: send at most ${MAX_QUERY} characters.`, { status: 413 });
    ctx.set('Cache-Control', 'no-store');
    ctx.status = 303;
    ctx.redirect(`${issuer}${path}?${query}`);
    return undefined;
  };
}
