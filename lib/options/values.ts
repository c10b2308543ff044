/** Checks of values that many options have, also for the modules that load nothing of the server. */
import { parseDuration, parseMilliseconds } from '../contracts/duration.ts';
import type { Duration, Milliseconds, Seconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import type { Check } from './declare.ts';

export const boolean: Check<boolean> = (place, given: unknown) => {
  if (typeof given === 'boolean') return given;
  throw new ConfigError(place, 'pass true or false');
};

/** A function. @param remedy - the message for anything else */
export function fn<F>(remedy = 'pass a function, or leave it out'): Check<F> {
  return (place, given) => {
    if (typeof given === 'function') return given;
    throw new ConfigError(place, remedy);
  };
}

/** @param remedy - the message for anything else, and for a text without a letter */
export function text(remedy = 'give a text, or leave it out'): Check<string> {
  return (place, given: unknown) => {
    if (typeof given === 'string' && given.trim() !== '') return given;
    throw new ConfigError(place, remedy);
  };
}

/** One of several words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Check<Word> {
  return (place, given) => {
    if (words.includes(given)) return given;
    throw new ConfigError(place, `choose ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
  };
}

/** A list of strings that all pass a check, each once. */
export function list(
  remedy: string,
  isRight: (item: string) => boolean = () => true,
  least = 0,
): Check<readonly string[]> {
  return (place, given: unknown) => {
    const isList = Array.isArray(given) && given.length >= least;
    if (isList && given.every((item) => typeof item === 'string' && isRight(item))) {
      return Object.freeze([...new Set(given as string[])]);
    }
    throw new ConfigError(place, remedy);
  };
}

/** Names, each a text that is not empty. */
export const names: Check<readonly string[]> = list(
  "list the names as strings, such as ['Acme Mail']; [] for none",
  (name) => name.trim() !== '',
);

/** Random strings of at least 32 characters. */
export const secrets: Check<readonly string[]> = list(
  'give random strings of at least 32 characters, newest first',
  (secret) => secret.length >= 32,
  1,
);

export const strings: Check<readonly string[]> = list('give an array of strings');

/** The origins of web pages. */
export const origins: Check<readonly string[]> = (place, given) =>
  list(
    'give origins without a path, such as https://app.example',
    (origin) => URL.parse(origin)?.origin === origin,
  )(place, strings(place, given));

/** A whole number. @param zero - the meaning of 0, where 0 is allowed although it is less than `least` */
export function integer(least: number, { most, zero }: { most?: number; zero?: string } = {}): Check<number> {
  const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`;
  return (place, given: unknown) => {
    const number = Number(given);
    const isAllowed = number >= least && number <= (most ?? number);
    if (Number.isSafeInteger(given) && (isAllowed || (number === 0 && zero !== undefined))) return number;
    throw new ConfigError(
      place,
      `give a whole number ${range}${zero === undefined ? '' : `, or 0 for ${zero}`}`,
    );
  };
}

/** A duration, in whole seconds. @param remedy - the message for a duration that is longer than `most` */
export function duration(
  least: number,
  most = Infinity,
  remedy = `give at most ${most} s`,
): Check<Duration, Seconds> {
  return (place, given) => {
    const seconds = parseDuration(given);
    if (seconds === undefined || seconds < least) {
      throw new ConfigError(
        place,
        `give seconds, or a number and a unit such as '1 hour' or '30 days'; at least ${least} s`,
      );
    }
    if (seconds <= most) return seconds;
    throw new ConfigError(place, remedy);
  };
}

/**
 * A timeout or a delay in milliseconds.
 *
 * @param longest - also detects a number of milliseconds that was given as seconds by mistake
 */
export function wait(
  least: 0 | 1,
  longest: '1 hour' | '10 minutes' = '1 hour',
): Check<Duration, Milliseconds> {
  const most = parseMilliseconds(longest)!;
  return (place, given) => {
    const milliseconds = parseMilliseconds(given);
    if (milliseconds !== undefined && milliseconds >= least && milliseconds <= most) return milliseconds;
    throw new ConfigError(
      place,
      `give seconds, or a number and a unit such as '30 seconds' or '500 ms'; ${least === 0 ? '' : 'more than 0, '}at most ${longest}`,
    );
  };
}

export const abortSignal: Check<AbortSignal> = (place, given: unknown) => {
  if (given instanceof AbortSignal) return given;
  throw new ConfigError(
    place,
    'pass an AbortSignal, such as AbortSignal.timeout(30_000) or the signal of an AbortController',
  );
};
