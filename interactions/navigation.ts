import type { Context } from 'koa';
import { plain, printable, sentence } from './sentence.ts';
import type { Texts } from './text.ts';

/** A link, or a link that looks like a button. */
export interface Link {
  readonly href: string;
  readonly label: string;
}

/** A parameter of the route's path, such as `id` of `/apps/:id`; `''` when the path has none. */
export function pathParameter(ctx: Context, name: string): string {
  return (ctx['params'] as Record<string, string>)[name] ?? '';
}

/** A query parameter without characters that cannot be printed; `''` when it is missing or repeated. */
export function queryText(ctx: Context, name: string): string {
  const value = ctx.query[name];
  return typeof value === 'string' ? printable(value) : '';
}

/** A URL with the parameters that are not empty. */
export function withQuery(path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = Object.entries(parameters).filter(([, value]) => value !== '');
  return filled.length > 0 ? `${path}?${new URLSearchParams(filled).toString()}` : path;
}

/** Redirects the browser with 303, after a posted form or to the page's own URL. */
export function seeOther(ctx: Context, url: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.status = 303;
  ctx.redirect(url);
}

/**
 * Where a redirect leads, in words. A private-use scheme (RFC 8252 section 7.1) has no origin: `com.example.app:/callback` opens the app
 * that has registered `com.example.app:`.
 */
export function destination(redirectUri: string, text: Texts): string {
  const url = URL.parse(redirectUri);
  if (!url) return redirectUri;
  if (url.origin !== 'null') return url.origin;
  return plain(sentence(text['consent.destination.program'], { name: url.protocol }));
}
