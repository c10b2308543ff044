const RealDate = globalThis.Date;
let ahead = 0;
let stoppedAt: number | undefined;

class ShiftedDate extends RealDate {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(ShiftedDate.now());
    else super(...given);
  }

  static override now(): number {
    return (stoppedAt ?? RealDate.now()) + ahead;
  }
}

// At import, so that modules that store a reference to `Date.now` store this one.
globalThis.Date = ShiftedDate as DateConstructor;

/**
 * Sets the clock of this process ahead, also for the server, so that tokens and sessions expire without waiting. For
 * `test.serial`, in files whose other tests do not depend on the time.
 */
export function passTime(seconds: number): void {
  ahead += seconds * 1000;
}

/** Sets the clock of this process right again. */
export function resetClock(): void {
  ahead = 0;
}

/** Stops the clock of this process until it is disposed, so that a slow machine changes nothing. For `test.serial`. */
export function stopClock(): Disposable {
  stoppedAt = RealDate.now();
  return {
    [Symbol.dispose]() {
      stoppedAt = undefined;
    },
  };
}
