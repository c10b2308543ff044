import type { Storage } from '../../contracts/index.ts';
import type { Assertions } from '../test-runner.ts';

/** Registers a test that gets a storage of its own. */
export type StorageTest = (title: string, run: (t: Assertions, storage: Storage) => Promise<void>) => void;
