import type { Context } from 'koa';
import type { Language } from './text.ts';

/**
 * Chooses the language of a page: what the app asked for (`ui_locales`, OpenID Connect Core 1.0 section 3.1.2.1), else
 * what the browser prefers (RFC 9110 section 12.5.4), else the first one that the pages are in.
 *
 * @param uiLocales - BCP 47 tags, the best first
 */
export function chooseLanguage(
  ctx: Context,
  spoken: readonly [Language, ...Language[]],
  uiLocales: readonly string[],
): Language {
  const [first, ...others] = spoken;
  if (others.length === 0) return first;
  for (const tag of uiLocales) {
    const [primary = ''] = tag.toLowerCase().split('-');
    const language = spoken.find((one) => one === primary);
    if (language) return language;
  }
  const preferred = ctx.acceptsLanguages(...spoken);
  return spoken.find((one) => one === preferred) ?? first;
}
