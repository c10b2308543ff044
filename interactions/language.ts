import type { Context } from 'koa';
import { sentence } from './sentence.ts';
import type { Names, Sentence } from './sentence.ts';
import type { Language, TextKey, Texts } from './text.ts';

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

/** A sentence that says how many: it is in the table once per form, such as `authorizedApps.lead.one` and `.other`. */
type PluralKey = {
  [K in TextKey]: K extends `${infer Name}.other` ? CountedKey<Name> : never;
}[TextKey];

// `apps.problem.other` is no form of anything.
type CountedKey<Name extends string> = `${Name}.one` extends TextKey ? Name : never;

/** Says how many of something there are, in the form that the number asks for. `{count}` is the number. */
export type Count = (key: PluralKey, count: number, names?: Names) => Sentence;

export function countIn(language: Language, text: Texts): Count {
  const rules = lazily(() => new Intl.PluralRules(language));
  const digits = lazily(() => new Intl.NumberFormat(language));
  return (key, count, names = {}) => {
    const form = rules().select(count) === 'one' ? 'one' : 'other';
    return sentence(text[`${key}.${form}`], { ...names, count: digits().format(count) });
  };
}

/** A moment, for programs and for people. */
export interface Moment {
  /** For `<time datetime>`. */
  readonly iso: string;
  /** In the page's language, in UTC. */
  readonly words: string;
}

/** How one language writes moments. */
export interface Clock {
  /** The day of a moment in seconds since 1970. */
  day(seconds: number): Moment;
  /** The minute of a moment in milliseconds since 1970. */
  minute(milliseconds: number): Moment;
}

/** Writes moments in UTC: the server does not know where a person is, and a log is compared with other logs. */
export function clockIn(language: string): Clock {
  const day = lazily(() => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' }));
  const minute = lazily(
    () =>
      new Intl.DateTimeFormat(language, {
        day: 'numeric',
        month: 'short',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
        timeZone: 'UTC',
        timeZoneName: 'short',
      }),
  );
  return {
    day(seconds) {
      const date = new Date(seconds * 1000);
      return { iso: date.toISOString().slice(0, 10), words: day().format(date) };
    },
    minute(milliseconds) {
      const date = new Date(milliseconds);
      return { iso: date.toISOString(), words: minute().format(date) };
    },
  };
}

/** Makes something when it is first asked for: what no page has needed yet does not hold up the start. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
