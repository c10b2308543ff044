import { storageContract } from 'koa-gatehouse/testing';

import type { Storage } from '../../lib/contracts/index.ts';
import type { TestDatabase } from './databases.ts';

/** Registers the storage contract on a server. Only the tests of migrations begin without tables. */
export function serverContract(
  { register, empty, cleared }: TestDatabase,
  open: (address: string) => Storage,
  prefix = '',
): void {
  let isEmpty = false;
  storageContract(
    (title, run) => {
      register(`${prefix}${title}`, async (t) => {
        isEmpty = title.includes('migrate()');
        await run(t);
      });
    },
    async () => open(await (isEmpty ? empty() : cleared())),
  );
}
