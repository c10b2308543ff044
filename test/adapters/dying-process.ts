// A node that redeems the code and is killed just before it sends the statement with the given number.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aRefreshToken, NOW } from '../storage/rows.ts';
import type { TestDatabase } from './databases.ts';
import { watchedKnex } from './watched-knex.ts';

const [client, address = '', id = '', last = ''] = process.argv.slice(2);
let count = 0;

const host = watchedKnex(client as TestDatabase['client'], address, () => {
  count += 1;
  if (count === Number(last)) process.kill(process.pid, 'SIGKILL');
});
await knexStorage(host).grants.redeem(
  { kind: 'code', id },
  {
    successor: aRefreshToken({ id: `successor of ${id}`, grantId: id, expiresAt: NOW * 2 }),
    sealedSuccessor: 'sealed',
  },
);
await host.destroy();
process.disconnect();
