/** The assertions that the suite needs; those of ava fit. An assertion that does not hold throws or fails the test. */
export interface Assertions {
  /** The values are identical by `Object.is()`. */
  is(actual: unknown, expected: unknown, message?: string): unknown;
  /** The values are deeply equal; a member that is `undefined` differs from an absent one. */
  deepEqual(actual: unknown, expected: unknown, message?: string): unknown;
  /** The value is `true`. */
  true(actual: unknown, message?: string): unknown;
  /** The value is `false`. */
  false(actual: unknown, message?: string): unknown;
  /** The promise rejects with an error that has this `code`. */
  throwsAsync(promise: Promise<unknown>, expected: { code: string }): Promise<unknown>;
  /** Registers a function that runs at the end of the test, also when it failed. */
  teardown(end: () => Promise<void>): void;
}

/** Registers a test, as ava's `test` does. */
export type RegisterTest = (title: string, run: (t: Assertions) => Promise<void>) => void;
