import { parseDuration, toMilliseconds } from '../contracts/duration.ts';
import type { Duration, Milliseconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';

/** A clock that a test sets. */
export interface FakeClock extends Disposable {
  /** Sets the clock ahead. @throws ConfigError for an invalid duration */
  advance(duration: Duration): void;
  /** Sets the clock, ahead or back; it runs on from there. */
  set(time: Date): void;
  /** Restores the real time. */
  restore(): void;
}

let isInUse = false;

/**
 * Replaces `Date` in this process, also for the server, so that tokens, codes and sessions expire without waiting. The clock
 * begins with the real time and runs; timers are not affected. On a database server, that server's own clock decides when a code
 * expires and how long `tokens.refreshGrace` lasts: test these with `memoryStorage()` or SQLite.
 *
 * It affects all code of the process, so use it in tests that run one after another.
 *
 * @throws ConfigError when a fake clock is in use already
 *
 * @example
 * import { fakeClock } from 'koa-gatehouse/testing';
 * using clock = fakeClock();
 * const token = await issueToken(auth, { user: ann, lifetime: '1 hour' });
 * clock.advance('1 hour'); // and the guard answers 401
 */
export function fakeClock(): FakeClock {
  if (isInUse)
    throw new ConfigError('fakeClock()', 'there is a fake clock already; call its restore() first');
  isInUse = true;
  const RealDate = globalThis.Date;
  let ahead = 0;
  const now = (): Milliseconds => RealDate.now() + ahead;
  const restore = (): void => {
    // It was restored already, or other code has replaced `Date` since.
    if (globalThis.Date !== FakeDate) return;
    globalThis.Date = RealDate;
    isInUse = false;
  };

  // A proxy and not a class, so that `instanceof` works for dates made before, and `Date()` can be called without `new`.
  const FakeDate = new Proxy(RealDate, {
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
    apply: () => new RealDate(now()).toString(),
    get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
  });
  globalThis.Date = FakeDate;

  return {
    advance(duration) {
      const seconds = parseDuration(duration);
      if (seconds === undefined) {
        throw new ConfigError('clock.advance()', "give seconds, or a duration such as '1 hour'");
      }
      ahead += toMilliseconds(seconds);
    },
    set(time) {
      ahead = time.getTime() - RealDate.now();
    },
    restore,
    [Symbol.dispose]: restore,
  };
}
