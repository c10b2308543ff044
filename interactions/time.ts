import { lazily } from './lazily.ts';

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
