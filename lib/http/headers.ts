import type { Context } from 'koa';

import { GatehouseError } from '../errors.ts';

/** What one page needs beyond the rules that hold for all of them. */
export interface PagePolicy {
  /**
   * Whether the page's form may only post to this server. `false` on the pages whose form ends in a redirect to a
   * client: Chromium applies `form-action` to every redirect that follows, so no list of origins could be complete.
   *
   * @default true
   */
  readonly formsStayHere?: boolean | undefined;
  /** Origins that images come from, besides this server. */
  readonly imageOrigins?: readonly string[] | undefined;
  /** URLs of the only scripts that may run. @default none */
  readonly scripts?: readonly string[] | undefined;
}

/**
 * Sets the headers of a page that a person sees: no script but the given ones, no framing, no caching, no sniffing.
 *
 * There is no Cross-Origin-Opener-Policy: it would cut a client's sign-in popup off from the window that opened it.
 */
export function setPageHeaders(ctx: Context, policy: PagePolicy = {}): void {
  const { formsStayHere = true, imageOrigins = [], scripts = [] } = policy;
  const directives = [
    "default-src 'none'",
    "style-src 'self'",
    ["img-src 'self'", ...imageOrigins].join(' '),
    ...(scripts.length > 0 ? [['script-src', ...scripts].join(' ')] : []),
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(formsStayHere ? ["form-action 'self'"] : []),
  ];
  ctx.set({
    'Content-Security-Policy': directives.join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    // Not `no-referrer`: with it browsers send `Origin: null` on the page's own form posts, and the same-origin check
    // would have nothing to go by where `Sec-Fetch-Site` is missing.
    'Referrer-Policy': 'same-origin',
  });
}

/**
 * Sets the headers of a file whose URL changes with its content.
 *
 * @param immutable - whether the URL is the one of this very content; if not, browsers ask again each time
 */
export function setAssetHeaders(ctx: Context, immutable: boolean): void {
  ctx.set({
    // An SVG that is opened by itself is a document of this origin: its scripts must not run.
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
}

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
