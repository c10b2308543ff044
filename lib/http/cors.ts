import type { Context, Middleware } from 'koa';

/** The origins of pages that may call an endpoint; `*`: all. */
export type AllowedOrigins = ReadonlySet<string> | '*';

/**
 * Lets pages of an origin call an endpoint that reads no cookie of them, so that a page can do nothing there that its own server could
 * not do (Fetch standard). When the host has set CORS header fields itself, they are left unchanged.
 *
 * @param origin - `*`: every one
 */
export function allowOrigin(ctx: Context, origin: string, methods: string): void {
  if (ctx.res.getHeaderNames().some((name) => name.startsWith('access-control-'))) return;
  ctx.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': '*, Retry-After, WWW-Authenticate',
  });
  if (ctx.method !== 'OPTIONS') return;
  ctx.set({
    'Access-Control-Allow-Methods': methods,
    // The wildcard does not include `Authorization` (Fetch standard).
    'Access-Control-Allow-Headers': '*, Authorization',
    'Access-Control-Max-Age': '600',
  });
}

/**
 * Makes the middleware that lets pages of these origins call what comes after it, and answers their preflights, which have no token.
 * Requests of other origins, and of programs, pass unchanged.
 */
export function createAllowOrigins(allowed: AllowedOrigins, methods: string): Middleware {
  return async function allowOrigins(ctx, next) {
    const { origin } = ctx.headers;
    if (allowed !== '*') ctx.vary('Origin');
    const isAllowed = origin !== undefined && (allowed === '*' || allowed.has(origin));
    if (!isAllowed) return next();
    allowOrigin(ctx, allowed === '*' ? '*' : origin, methods);
    if (ctx.method !== 'OPTIONS' || ctx.get('Access-Control-Request-Method') === '') return next();
    ctx.status = 204;
    return undefined;
  };
}
