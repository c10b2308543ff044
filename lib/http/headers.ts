import type { Context } from 'koa';

import { GatehouseError } from '../errors.ts';

/** What one page needs in addition to the policy of all pages. */
export interface PagePolicy {
  /**
   * Whether the page's form may only post to this server. `false` on the pages whose form ends in a redirect to a
   * client: Chromium applies `form-action` to every redirect that follows, so no list of origins could be complete.
   *
   * @default true
   */
  readonly formsStayHere?: boolean | undefined;
  /** Origins of images, in addition to this server. */
  readonly imageOrigins?: readonly string[] | undefined;
  /** URLs of the only scripts that may run. @default none */
  readonly scripts?: readonly string[] | undefined;
  /** Where the scripts may send requests. @default nowhere */
  readonly connections?: readonly string[] | undefined;
}

/** Sets the headers of an HTML page: only the given scripts, no framing, no caching, no content sniffing. */
export function setPageHeaders(ctx: Context, policy: PagePolicy = {}): void {
  const { connections = [], formsStayHere = true, imageOrigins = [], scripts = [] } = policy;
  const directives = [
    "default-src 'none'",
    "style-src 'self'",
    ["img-src 'self'", ...imageOrigins].join(' '),
    ...(scripts.length > 0 ? [['script-src', ...scripts].join(' ')] : []),
    ...(connections.length > 0 ? [['connect-src', ...connections].join(' ')] : []),
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(formsStayHere ? ["form-action 'self'"] : []),
  ];
  ctx.set({
    'Content-Security-Policy': directives.join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    // Not `no-referrer`: with it browsers send `Origin: null` with the page's own form posts, and the same-origin check would
    // have no information where `Sec-Fetch-Site` is missing.
    'Referrer-Policy': 'same-origin',
  });
}

/**
 * Leaves a client's sign-in popup connected to the window that opened it: middleware of the host, such as koa-helmet, sets a
 * Cross-Origin-Opener-Policy that would separate them, also at a redirect.
 */
export function keepOpener(ctx: Context): void {
  ctx.remove('Cross-Origin-Opener-Policy');
}

/**
 * Sets the headers of a file whose URL changes with its content.
 *
 * @param immutable - whether the URL identifies exactly this content; if not, browsers revalidate on each use
 */
export function setAssetHeaders(ctx: Context, immutable: boolean): void {
  ctx.set({
    // An SVG file that is opened as a page is a document of this origin: its scripts must not run.
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
}

/**
 * Refuses a request that a page of another site made. Every form post is checked with it.
 *
 * @param origin - the server's own origin, from the issuer: the client chooses the `Host` header field
 * @throws GatehouseError `ERR_CROSS_SITE`, 403
 */
export function requireSameOrigin(ctx: Context, origin: string): void {
  if (isSameOrigin(ctx, origin)) return;
  throw new GatehouseError('ERR_CROSS_SITE', 'This form was sent from another site.', { status: 403 });
}

function isSameOrigin(ctx: Context, origin: string): boolean {
  const { 'sec-fetch-site': site, origin: sender, referer } = ctx.headers;
  // Pages cannot set or change this field. `none`: the user made the request, such as by a reload, and no page did.
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  // Browsers omit Sec-Fetch-Site over plain http, and older browsers always omit it, but every browser sends Origin with a
  // POST. `null`, the origin of a sandboxed frame, never equals the server's origin.
  if (sender !== undefined) return sender === origin;
  if (referer !== undefined) return URL.parse(referer)?.origin === origin;
  // A request without all three comes from a program, which can send only cookies that it obtained itself. A browser that sends
  // none of the three does not support SameSite either, and a defence for it would refuse programs as well.
  return true;
}
