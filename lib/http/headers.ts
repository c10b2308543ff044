import type { Context } from 'koa';

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
