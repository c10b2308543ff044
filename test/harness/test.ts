import ava from 'ava';
import type { SerialFn, TestFn } from 'ava';

import { resetClock } from './clock.ts';

/**
 * Declares a test: ava's `test`, of which those in the folders of `npm test` run one after the other. Many files share a process there, and
 * ava would start all their tests at once.
 */
const inSeries = !/\/(?:bench|test\/(?:all|alone|databases))\//.test(ava.meta.file);

type Test = SerialFn &
  Pick<TestFn, 'after' | 'afterEach' | 'before' | 'beforeEach' | 'macro' | 'meta' | 'serial'>;

const test: Test = inSeries
  ? Object.assign(ava.serial, {
      after: ava.after,
      afterEach: ava.afterEach,
      before: ava.before,
      beforeEach: ava.beforeEach,
      macro: ava.macro,
      meta: ava.meta,
      serial: ava.serial,
    })
  : ava;

export default test;

// Whatever time a test has passed, the next one begins with a clock that is right.
if (inSeries) ava.afterEach.always(resetClock);
