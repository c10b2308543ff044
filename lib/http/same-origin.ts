import type { Context } from 'koa';
import { GatehouseError } from '../errors.ts';

/**
 * Refuses a request that another site's page made, with a 403 `ERR_CROSS_SITE`. For every form post.
 *
 * @param origin - the server's own origin, from the issuer: the `Host` header is the requester's word
 */
export function requireSameOrigin(ctx: Context, origin: string): void {
  if (isSameOrigin(ctx, origin)) return;
  throw new GatehouseError('ERR_CROSS_SITE', 'This form was sent from another site.', { status: 403 });
}

function isSameOrigin(ctx: Context, origin: string): boolean {
  const { 'sec-fetch-site': site, origin: sender, referer } = ctx.headers;
  // Pages cannot set or change this one. `none`: the person's own doing, such as a reload; no page asked for it.
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  // Browsers leave Sec-Fetch-Site out on plain http, and older ones altogether, but all send Origin with a POST.
  // `null`, the origin of a sandboxed frame, is never equal.
  if (sender !== undefined) return sender === origin;
  if (referer !== undefined) return URL.parse(referer)?.origin === origin;
  // None of the three: a program, with cookies that it was given itself. A browser so old that it sends none of them
  // does not know SameSite either, and there is no defence for it that would not shut programs out.
  return true;
}
