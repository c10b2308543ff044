import type { Storage } from '../contracts/index.ts';

/** What the suite asks of a test's assertions; those of ava fit. Each one throws, or fails the test, when it does not hold. */
export interface Assertions {
  /** The two are the same, by `Object.is()`. */
  is(actual: unknown, expected: unknown, message?: string): unknown;
  /** The two have the same members, all the way down; a member that is `undefined` is not the same as none. */
  deepEqual(actual: unknown, expected: unknown, message?: string): unknown;
  /** It is `true` itself. */
  true(actual: unknown, message?: string): unknown;
  /** It is `false` itself. */
  false(actual: unknown, message?: string): unknown;
  /** The promise rejects with an error that has this `code`. */
  throwsAsync(promise: Promise<unknown>, expected: { code: string }): Promise<unknown>;
  /** Runs when the test is over, also when it failed. */
  teardown(end: () => Promise<void>): void;
}

/** Registers a test, as ava's `test` does. */
export type RegisterTest = (title: string, run: (t: Assertions) => Promise<void>) => void;

/** Registers a test that gets a storage of its own. */
export type StorageTest = (title: string, run: (t: Assertions, storage: Storage) => Promise<void>) => void;
