import type { Middleware } from 'koa';

/** Lets a form's post pass when it comes from this portal's own pages; another site's form presses no button here. */
export function sameOrigin(baseUrl: string): Middleware {
  return async function requireSameOrigin(ctx, next) {
    const isOwn = ctx.get('Sec-Fetch-Site') === 'same-origin' || ctx.get('Origin') === baseUrl;
    if (isOwn) await next();
    else ctx.redirect(`${baseUrl}/portal`);
  };
}
