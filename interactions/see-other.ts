import type { Context } from 'koa';

/** Sends the browser on, after a form or to where a page really is. */
export function seeOther(ctx: Context, url: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.status = 303;
  ctx.redirect(url);
}
