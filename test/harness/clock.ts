const RealDate = globalThis.Date;
let ahead = 0;

class ShiftedDate extends RealDate {
  constructor(...given: [] | [number | string | Date]) {
    if (given.length === 0) super(ShiftedDate.now());
    else super(given[0]);
  }

  static override now(): number {
    return RealDate.now() + ahead;
  }
}

// From the start, for those who keep a reference to `Date.now`.
globalThis.Date = ShiftedDate as DateConstructor;

/**
 * Sets this process's clock ahead, the server's included, so that things expire without waiting. For `test.serial`, in
 * files whose other tests do not mind.
 */
export function passTime(seconds: number): void {
  ahead += seconds * 1000;
}
