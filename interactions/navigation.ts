import type { Context } from 'koa';
import { printable } from './sentence.ts';

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
