import test from '../harness/test.ts';
import { storageContract } from '../storage/storage-contract.ts';

import type { Storage } from '../../lib/contracts/index.ts';
import type { TestDatabase } from './databases.ts';

/** A hundred calls at once wait for ten connections: on a busy machine, for longer than the default. */
export const PATIENT = { timeout: '30 seconds' } as const;

/**
 * Registers the storage contract on a server. The tests of migrations begin without tables, each with a new storage. All
 * others share one, as in a server that runs for long, because connecting takes the most time.
 */
export function serverContract(
  { register, empty, cleared }: TestDatabase,
  open: (address: string) => Storage,
  prefix = '',
): void {
  let isEmpty = false;
  let lasting: Storage | undefined;
  test.after.always(`${prefix}close the storage`, async () => lasting?.close());
  storageContract(
    (title, run) => {
      register(`${prefix}${title}`, async (t) => {
        isEmpty = title.includes('migrate()');
        await run(t);
      });
    },
    async () => {
      if (isEmpty) return open(await empty());
      const address = await cleared();
      lasting ??= open(address);
      return { ...lasting, close: async () => undefined };
    },
  );
}
