import type { Context } from 'koa';
import { printable } from './sentence.ts';

/** A link, or a button that looks like one. */
export interface Link {
  readonly href: string;
  readonly label: string;
}

/** A text of the URL's query, without what cannot be printed; `''` when it is missing or repeated. */
export function queryText(ctx: Context, name: string): string {
  const value = ctx.query[name];
  return typeof value === 'string' ? printable(value) : '';
}

/** A URL with the parameters that are not empty. */
export function withQuery(path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = Object.entries(parameters).filter(([, value]) => value !== '');
  return filled.length > 0 ? `${path}?${new URLSearchParams(filled).toString()}` : path;
}

/** Sends the browser on, after a form or to where a page really is. */
export function seeOther(ctx: Context, url: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.status = 303;
  ctx.redirect(url);
}
