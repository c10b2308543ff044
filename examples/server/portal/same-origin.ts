import type { Middleware } from 'koa';

/** Accepts forms of this portal's own pages only (CSRF protection). */
export function sameOrigin(baseUrl: string): Middleware {
  return async function requireSameOrigin(ctx, next) {
    const isOwn = ctx.get('Sec-Fetch-Site') === 'same-origin' || ctx.get('Origin') === baseUrl;
    if (isOwn) await next();
    else ctx.redirect(`${baseUrl}/portal`);
  };
}
