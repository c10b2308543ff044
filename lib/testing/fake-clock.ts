import { parseDuration } from '../contracts/duration.ts';
import type { Duration } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';

/** A clock that a test sets. */
export interface FakeClock extends Disposable {
  /** Sets the clock ahead. @throws ConfigError for what is no duration */
  advance(duration: Duration): void;
  /** Sets the clock, ahead or back; it goes on from there. */
  set(time: Date): void;
  /** Brings the real time back. */
  restore(): void;
}

let isInUse = false;

/**
 * Puts a clock in place of `Date` in this process, the server's included, so that tokens, codes and sessions expire
 * without waiting. It shows the real time at first, and it goes on; timers are not touched.
 *
 * Everything else in the process sees it too: for tests that run one after the other.
 *
 * @throws ConfigError when there is one already
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
  const now = (): number => RealDate.now() + ahead;
  const restore = (): void => {
    // Done already, or something else has put its own clock on top since.
    if (globalThis.Date !== FakeDate) return;
    globalThis.Date = RealDate;
    isInUse = false;
  };

  // A proxy, not a class: `instanceof` and the dates made before stay as they are, and `Date()` stays a function.
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
      ahead += seconds * 1000;
    },
    set(time) {
      ahead = time.getTime() - RealDate.now();
    },
    restore,
    [Symbol.dispose]: restore,
  };
}
