import test from '../../harness/test.ts';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { storageContract } from '../../storage/storage-contract.ts';
import type { RegisterTest } from '../../../lib/testing/test-runner.ts';

import { fileWithTables } from '../../adapters/file-with-tables.ts';

storageContract(test, async () => knexStorage(`sqlite:${await fileWithTables()}`));

const inMemory: RegisterTest = (title, run) => {
  test(`in memory: ${title}`, run);
};

storageContract(inMemory, memoryStorage);

const onSharedConnection: RegisterTest = (title, run) => {
  test(`shared with a host: ${title}`, run);
};

storageContract(onSharedConnection, async () => {
  const host = knex({
    client: 'better-sqlite3',
    // Settings of a host that must not change how the storage reads its rows.
    connection: { filename: await fileWithTables(), options: { safeIntegers: true } },
    useNullAsDefault: true,
    postProcessResponse: () => 'not for Gatehouse',
    wrapIdentifier: (value, original) => original(value.toUpperCase()),
  });
  const storage = knexStorage(host);
  return { ...storage, close: async () => host.destroy() };
});
