// A node that stops in the middle of a migration and is killed there.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { TestDatabase } from './databases.ts';
import { watchedKnex } from './watched-knex.ts';

const [client, address = '', beginning = ''] = process.argv.slice(2);

await knexStorage(
  watchedKnex(client as TestDatabase['client'], address, (sql) => {
    if (sql.startsWith(beginning)) waitForKill();
  }),
).migrate();

function waitForKill(): void {
  process.send?.('in the middle');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
