// A node of its own: migrates the file, says so, redeems the codes that it is sent and answers with how each one ended.
import { once } from 'node:events';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aRefreshToken, NOW } from '../../lib/testing/storage/rows.ts';

const [file = '', name = ''] = process.argv.slice(2);
const storage = knexStorage(file);
await storage.migrate();
process.send?.('ready');

const [codes]: string[][] = await once(process, 'message');
const redemptions = await Promise.all(
  (codes ?? []).map(async (id) =>
    storage.credentials.redeem(
      { kind: 'code', id },
      { at: NOW, successor: aRefreshToken({ id: `${id} ${name}`, grantId: id }), sealedSuccessor: name },
    ),
  ),
);
process.send?.(redemptions);
await storage.close();
process.disconnect();
