import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aRecord, HOUR, NOW } from '../storage/rows.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import { openHost, openStorage, openTransaction } from './host-knex.ts';
import { untilBlocked } from './lock-waits.ts';
import { watchedKnex } from './watched-knex.ts';

onEachDatabase(
  'audit records that need several statements are added all or none',
  async (t, { client }, address) => {
    let remaining = Infinity;
    const host = watchedKnex(client, address, () => {
      remaining -= 1;
      if (remaining < 0) throw new Error('the connection is lost');
    });
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host);
    await storage.migrate();
    const { audit } = storage;
    const records = Array.from({ length: 600 }, (_, index) => aRecord({ id: `${index + 1000}` }));

    // The first statement is BEGIN.
    for (let statements = 1; statements <= 3; statements += 1) {
      remaining = statements;
      await t.throwsAsync(audit.append(records, NOW + HOUR), { code: 'ERR_STORAGE' });
      remaining = Infinity;
      t.deepEqual(await audit.list({}), [], `after ${statements} statements`);
    }
    await audit.append(records, NOW + HOUR);
    t.deepEqual(await audit.list({ limit: 1000 }), records.toReversed());
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'nodes that append the same records do not deadlock',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address);
    const other = openHost(t, client, address);
    const row = { at: NOW * 1000, type: 'login', user_id: 'ann', payload: '{}', expires_at: NOW + HOUR };

    // As another node with the same records in its next batch does.
    const transaction = await openTransaction(t, other);
    await transaction('gatehouse_audit').insert({ id: 'a', ...row });
    const appending = storage.audit.append([aRecord({ id: 'b' }), aRecord({ id: 'a' })], NOW + HOUR);
    await untilBlocked(other);
    await transaction('gatehouse_audit').insert({ id: 'b', ...row });
    await transaction.commit();
    await appending;
    t.deepEqual(await storage.audit.list({}), [aRecord({ id: 'b' }), aRecord({ id: 'a' })]);
  },
  [postgresql, mariadb],
);
