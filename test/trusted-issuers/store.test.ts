import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase } from '../adapters/databases.ts';
import { allowedGrantContract } from './store-contract.ts';

allowedGrantContract((title, run) => test(`memory: ${title}`, async (t) => run(t, memoryStorage())));

allowedGrantContract((title, run) =>
  onEachDatabase(title, async (t, _database, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();
    await run(t, storage);
  }),
);
