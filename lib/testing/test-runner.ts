/** What the suite asks of a test's assertions; those of ava fit. */
export interface Assertions {
  is(actual: unknown, expected: unknown, message?: string): unknown;
  deepEqual(actual: unknown, expected: unknown, message?: string): unknown;
  true(actual: unknown, message?: string): unknown;
  false(actual: unknown, message?: string): unknown;
  throwsAsync(promise: Promise<unknown>, expected: { code: string }): Promise<unknown>;
  /** Runs when the test is over, also when it failed. */
  teardown(end: () => Promise<void>): void;
}

/** Registers a test, as ava's `test` does. */
export type RegisterTest = (title: string, run: (t: Assertions) => Promise<void>) => void;
