import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { countedKnex } from '../../adapters/counted-knex.ts';
import { onEachDatabase } from '../../adapters/databases.ts';
import { openHost, openStorage } from '../../adapters/host-knex.ts';
import { aClient, NOW } from '../../storage/rows.ts';
import { logoutsOf } from '../../openid/logouts-of.ts';

const SIGN_INS = 20_000;
const READER = 'openid';

onEachDatabase(
  'the end of a client with 20,000 sign-ins is three statements for its caller, and its reader tells each once, also after it was interrupted',
  async (t, { client }, address) => {
    await openStorage(t, address);
    const host = openHost(t, client, address);
    let sent = 0;
    let left = Infinity;
    const counted = countedKnex(client, address, (sql) => {
      if (!sql.includes('gatehouse_')) return;
      sent += 1;
      left -= 1;
      if (left < 0) throw new Error('the connection is lost');
    });
    t.teardown(async () => counted.destroy());
    const storage = knexStorage(counted);
    const { ends, revocations } = storage;
    for (const id of ['told', 'other'])
      await storage.clients.insert(aClient({ id, backchannelLogoutUri: `https://${id}.example/logout` }), []);
    await ends.read(READER, ['user', 'client', 'all'], Number.MAX_SAFE_INTEGER);
    const rows = Array.from({ length: SIGN_INS + 2000 }, (_, index) => ({
      id: `grant ${index}`,
      // A user with several sessions at the client.
      user_id: `user ${index % 5000}`,
      client_id: index < SIGN_INS ? 'told' : 'other',
      session_uid: `session ${index}`,
      scopes: '[]',
      sequence: 0,
      created_at: NOW,
      expires_at: 9e9,
      needed_until: 9e9,
    }));
    for (let start = 0; start < rows.length; start += 250)
      await host('gatehouse_grants').insert(rows.slice(start, start + 250));

    sent = 0;
    await revocations.revokeAllOf({ clientId: 'told' });
    t.is(sent, 3);
    const logouts = logoutsOf(storage);
    const at = Math.floor(Date.now() / 1000) + 100;
    const [end] = await ends.take(READER, { now: at, leasedUntil: at + 60, limit: 256 });
    t.is(end!.kind, 'client');
    // In the middle of its batches.
    left = 60;
    await t.throwsAsync(logouts.add([end!]), { code: 'ERR_STORAGE' });
    left = Infinity;
    const told = async (): Promise<number> => {
      const [row] = await host('gatehouse_logouts').count({ count: '*' });
      return Number(row!['count']);
    };
    const before = await told();
    t.true(before > 0 && before < SIGN_INS, `${before}`);

    const again = await ends.take(READER, { now: at + 60, leasedUntil: at + 120, limit: 256 });
    t.is(again.length, 1);
    sent = 0;
    const startedAt = performance.now();
    await logouts.add(again);
    const took = performance.now() - startedAt;
    t.log(`${sent} statements, ${Math.round(took)} ms`);
    // By its indexes: without one of them it took 39 s. In batches of 256, of a few statements each.
    t.true(took < 20_000, `${took} ms`);
    t.true(sent <= 4 * (SIGN_INS / 256 + 2), `${sent}`);
    t.is(await told(), SIGN_INS);
    t.is((await host('gatehouse_logouts').distinct('session_uid')).length, SIGN_INS);
    t.is((await host('gatehouse_logouts').whereNot({ client_id: 'told' })).length, 0);
    t.is((await host('gatehouse_ends')).length, 0);
    t.is((await host('gatehouse_grants').whereNotNull('session_uid')).length, 2000);
  },
);
