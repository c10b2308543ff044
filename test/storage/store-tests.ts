import type { Storage } from '../../lib/contracts/index.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';

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
