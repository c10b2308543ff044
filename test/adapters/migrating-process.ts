// A node that stops in the middle of a migration and is killed there.
import type { TestDatabase } from './databases.ts';
import { migrateWith } from './made-up-migration.ts';
import { watchedKnex } from './watched-knex.ts';

const [client, address = '', beginning = ''] = process.argv.slice(2);

await migrateWith(
  watchedKnex(client as TestDatabase['client'], address, (sql) => {
    if (sql.startsWith(beginning)) waitForKill();
  }),
);

function waitForKill(): void {
  process.send?.('in the middle');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
