import type { Storage } from '../contracts/index.ts';

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

/** Registers a test that receives a new storage. */
export type StorageTest = (title: string, run: (t: Assertions, storage: Storage) => Promise<void>) => void;

/** Registers a test that receives one store of a new storage, and the storage. */
export type StoreTest<Name extends keyof Storage> = (
  title: string,
  run: (t: Assertions, store: Storage[Name], storage: Storage) => Promise<void>,
) => void;

/** The tests of one store. */
export function testsOf<Name extends keyof Storage>(test: StorageTest, name: Name): StoreTest<Name> {
  return (title, run) => {
    test(title, async (t, storage) => run(t, storage[name], storage));
  };
}

/** The results of a number of calls at once. */
export async function atOnce<T>(calls: number, call: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: calls }, async (_, index) => call(index)));
}

/** Of a number of calls at once, exactly one resolves to `true`. Resolves to the index of that one. */
export async function onlyOneOf(
  t: Assertions,
  calls: number,
  call: (index: number) => Promise<boolean>,
): Promise<number> {
  const results = await atOnce(calls, call);
  t.is(results.filter(Boolean).length, 1);
  return results.indexOf(true);
}
