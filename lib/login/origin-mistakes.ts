import type { Context } from 'koa';

import { isLoopback } from '../contracts/loopback.ts';
import type { Logger } from '../contracts/index.ts';
import { InteractionExpiredError } from '../errors.ts';

type Refusal = Pick<Error, 'message'> & { readonly code: string };

/**
 * Why a page was refused, for the log: what the error says and, where it may be the cause, that the browser is at another origin than
 * the issuer's, for which alone the cookies are and the forms work.
 *
 * @param origin - that of the issuer
 */
export function refusalReason(ctx: Context, error: Refusal, origin: string): string {
  const mayBeOrigin = error.code === 'ERR_CROSS_SITE' || error instanceof InteractionExpiredError;
  const sender = ctx.headers.origin === 'null' ? undefined : ctx.headers.origin;
  const mistake = mayBeOrigin ? mistakeIn(sender ?? seenAt(ctx), origin) : undefined;
  return mistake === undefined ? error.message : `${error.message} ${mistake}`;
}

/**
 * Makes what warns, once, at the first request of a page that comes to another origin than the issuer's: cookies and forms would fail
 * later. A warning only, because anybody can send these header fields.
 */
export function createOriginWarning({
  logger,
  origin,
}: {
  readonly logger: Logger;
  readonly origin: string;
}): (ctx: Context) => void {
  let isDone = false;
  return function warnOfOtherOrigin(ctx) {
    if (isDone || !isSure(ctx, origin)) return;
    const mistake = mistakeIn(seenAt(ctx), origin);
    if (mistake === undefined) return;
    isDone = true;
    logger.warn({ reason: mistake }, 'pages are opened at another origin than the issuer');
  };
}

/** As the header fields say, and the proxy in front where it is trusted. */
function seenAt({ host, protocol }: Context): string {
  return `${protocol}://${host}`;
}

/** Whether it is the browser that is at another origin: behind most proxies, the requests of this process are at another one too. */
function isSure(ctx: Context, origin: string): boolean {
  const { 'sec-fetch-mode': mode, 'upgrade-insecure-requests': navigates } = ctx.headers;
  const issuer = new URL(origin);
  if (isLoopback(issuer.hostname)) return isLoopback(ctx.hostname) && ctx.hostname !== issuer.hostname;
  if (issuer.protocol !== 'https:' || ctx.secure) return false;
  if (ctx.get('X-Forwarded-Proto') !== '') return true;
  // Browsers send the first to https only, and the second with the navigation to any page.
  return mode === undefined && navigates === '1' && ctx.get('X-Forwarded-For') === '';
}

/** What is wrong, with the remedy, when the server is taken for another origin. `undefined`: it is not. */
function mistakeIn(seen: string, origin: string): string | undefined {
  const [at, issuer] = [URL.parse(seen), new URL(origin)];
  if (!at || at.origin === origin) return undefined;
  const what = `The request is for ${at.origin.slice(0, 100)}, and the issuer is at ${origin}:`;
  if (isLoopback(at.hostname) && isLoopback(issuer.hostname) && at.hostname !== issuer.hostname)
    return `${what} browsers take ${at.hostname} and ${issuer.hostname} for different sites. Open the pages at the issuer, or set issuer to the other.`;
  if (at.protocol === 'http:' && issuer.protocol === 'https:')
    return `${what} open the pages by https. If they are, the proxy in front hides it: let it send X-Forwarded-Proto, and set trustProxy, or proxy of your own app.`;
  return `${what} open the pages at the issuer, or set issuer to where they are.`;
}
