import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { passportSource } from 'koa-gatehouse/adapters/knex';
import { storageContract } from '../storage/storage-contract.ts';

import { connectStorage } from '../../lib/passport/connected-storage.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectLaravel, createTables } from './laravel.ts';

const laravel = connectLaravel('better-sqlite3', temporaryFile('laravel.sqlite'));
await createTables(laravel, '13');
test.after.always(async () => laravel.destroy());

// A server with the option `passport` uses any storage through this one.
storageContract(test, () =>
  connectStorage(memoryStorage(), {
    importOf: async () => {},
    isWritable: true,
    source: passportSource(laravel),
  }),
);
