import type { Context } from 'koa';
import { toDate } from '../lib/contracts/duration.ts';
import type { Seconds } from '../lib/contracts/duration.ts';
import { sentence } from './sentence.ts';
import type { Names, Sentence } from './sentence.ts';
import type { Language, TextKey, Texts } from './text.ts';

/**
 * Chooses the language of a page: the one that the app asked for (`ui_locales`, OpenID Connect Core 1.0 section 3.1.2.1), else
 * the one that the browser prefers (RFC 9110 section 12.5.4), else the first of the configured languages.
 *
 * @param uiLocales - BCP 47 tags, the most preferred first. @default `ui_locales` of the request itself
 */
export function chooseLanguage(
  ctx: Context,
  supported: readonly [Language, ...Language[]],
  uiLocales: readonly string[] | undefined,
): Language {
  const [first, ...others] = supported;
  if (others.length === 0) return first;
  for (const tag of uiLocales ?? localesOf(ctx)) {
    const [primary = ''] = tag.toLowerCase().split('-');
    const language = supported.find((one) => one === primary);
    if (language) return language;
  }
  const preferred = ctx.acceptsLanguages(...supported);
  return supported.find((one) => one === preferred) ?? first;
}

function localesOf({ query }: Context): readonly string[] {
  const locales = query['ui_locales'];
  return typeof locales === 'string' ? locales.split(' ') : [];
}

/** The key of a sentence with a number, which has one text per plural form, such as `authorizedApps.lead.one` and `.other`. */
export type PluralKey<Key extends string = TextKey> = {
  [K in Key]: K extends `${infer Name}.other` ? CountedKey<Name, Key> : never;
}[Key];

// `apps.problem.other` is not a plural form: there is no `apps.problem.one`.
type CountedKey<Name extends string, Key extends string> = `${Name}.one` extends Key ? Name : never;

/** Makes a sentence with a number, `{count}`, in the plural form that the number needs. */
export type Count<Key extends string = TextKey> = (
  key: PluralKey<Key>,
  count: number,
  names?: Names,
) => Sentence;

export function countIn(language: Language, text: Texts): Count {
  const rules = lazily(() => new Intl.PluralRules(language));
  const digits = lazily(() => new Intl.NumberFormat(language));
  return (key, count, names = {}) => {
    const form = rules().select(count) === 'one' ? 'one' : 'other';
    return sentence(text[`${key}.${form}`], { ...names, count: digits().format(count) });
  };
}

/** A point in time, in a form for programs and one for people. */
export interface Moment {
  /** For `<time datetime>`. */
  readonly iso: string;
  /** In the page's language, in UTC. A time of day says so; of a date, the page says it once. */
  readonly words: string;
}

/** Formats times in one language. */
export interface Clock {
  /** The date. */
  day(time: Seconds): Moment;
  /** The date and time, to the minute. */
  minute(time: Seconds): Moment;
  /** A span in its largest unit, such as "90 days". */
  span(length: Seconds): string;
}

const UNITS = [
  ['year', 365 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Formats times in UTC, because the server does not know the user's time zone, and users compare activity with server logs. */
export function clockIn(language: string): Clock {
  const day = lazily(() => new Intl.DateTimeFormat(language, DAY));
  const minute = lazily(
    () =>
      new Intl.DateTimeFormat(language, {
        ...DAY,
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
        timeZoneName: 'short',
      }),
  );
  return {
    day(time) {
      const date = toDate(time);
      return { iso: date.toISOString().slice(0, 10), words: day().format(date) };
    },
    minute(time) {
      const date = toDate(time);
      return { iso: date.toISOString(), words: minute().format(date) };
    },
    span(length) {
      // In days up to two years, unless it is a year: "1.4 years" says less than "500 days".
      const [unit, size] = UNITS.find(([, one]) => length % one === 0 || length >= 2 * one) ?? ['minute', 60];
      const options = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 0 } as const;
      return new Intl.NumberFormat(language, options).format(Math.max(length / size, 1));
    },
  };
}

const DAY = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;

/** A clock of one page, and whether the page has a date without a time of day. */
export function noteDays(clock: Clock): { readonly clock: Clock; hasDays(): boolean } {
  let hasDays = false;
  return {
    hasDays: () => hasDays,
    clock: {
      ...clock,
      day(time) {
        hasDays = true;
        return clock.day(time);
      },
    },
  };
}

/** Creates an object at its first use, because creating the `Intl` objects of all languages would make the start slower. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
