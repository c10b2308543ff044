// A node that gets stuck in the middle of migrating, to be killed there.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { TestDatabase } from './databases.ts';
import { watchedKnex } from './watched-knex.ts';

const [client, address = '', beginning = ''] = process.argv.slice(2);

await knexStorage(
  watchedKnex(client as TestDatabase['client'], address, (sql) => {
    if (sql.startsWith(beginning)) getStuck();
  }),
).migrate();

function getStuck(): void {
  process.send?.('in the middle');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
