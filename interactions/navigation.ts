import type { Context } from 'koa';
import { queryParameter } from '../lib/http/query.ts';
import { plain, printable, sentence } from './sentence.ts';
import type { Texts } from './text.ts';

/** A link, or a link that looks like a button. */
export interface Link {
  readonly href: string;
  readonly label: string;
}

/** A query parameter without characters that cannot be printed; `''` when it is missing or repeated. */
export function queryText(ctx: Context, name: string): string {
  return printable(queryParameter(ctx, name));
}

/** A URL with the parameters that are not empty. */
export function withQuery(path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = Object.entries(parameters).filter(([, value]) => value !== '');
  return filled.length > 0 ? `${path}?${new URLSearchParams(filled).toString()}` : path;
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
