import { setTimeout as delay } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase, postgresql } from '../../adapters/databases.ts';
import { sayMissing } from '../../harness/missing.ts';
import { openHost, SOLE } from '../../adapters/host-knex.ts';
import { startDatabaseProxy } from '../../adapters/database-proxy.ts';
import { hasPgBouncer, startPgBouncer } from '../../adapters/pgbouncer.ts';
import { connect, POSTGRESQL } from '../../adapters/servers.ts';
import { startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { endWith } from '../../harness/serve.ts';
import { requestClientToken } from '../../harness/tokens.ts';
import { familiesOf } from '../../oidc/families.ts';

// No cache is read again in the time of a test, so only a message of the other node can be the reason.
const revocationLag = '1 hour';

const LISTENING = `
  select count(*)::int as count from pg_stat_activity
  where datname = current_database() and query = 'listen gatehouse_changes' and state = 'idle'`;

async function untilListening(admin: ReturnType<typeof connect>, count: number): Promise<void> {
  while ((await admin.raw(LISTENING)).rows[0].count !== count) await delay(20);
}

/** Waits until a node refuses a token. */
async function untilRefused(
  t: ExecutionContext,
  node: Platform,
  token: string,
  code = 'token_revoked',
): Promise<void> {
  for (;;) {
    const { status, body } = await node.api('/identity', token);
    if (status === 401) {
      t.is(body['code'], code);
      return;
    }
    t.is(status, 200);
    await delay(10);
  }
}

/** Registers a client at one node, and has the other one issue and accept a token for it. */
async function tokenAt(
  t: ExecutionContext,
  here: Platform,
  there: Platform,
): Promise<{ id: string; token: string }> {
  const service = await here.registerService();
  const { body } = await requestClientToken(there, service);
  t.is((await there.api('/identity', body.access_token)).status, 200);
  return { id: service.client.id, token: body.access_token };
}

onEachDatabase(
  'what one node revokes or changes, another one knows at once',
  async (t, _database, address) => {
    const admin = connect(POSTGRESQL, address);
    t.teardown(async () => admin.destroy());
    // The app's own instance: its only connection stays its own.
    const host = openHost(t, 'pg', address, SOLE);
    await using here = await startPlatform({ storage: knexStorage(address), tokens: { revocationLag } });
    await using there = await startPlatform({
      storage: knexStorage(host),
      tokens: { revocationLag },
      issuer: here.origin,
    });
    await untilListening(admin, 2);
    const app = await here.registerApp({ firstParty: true });
    const { family } = familiesOf(here, app);
    const serviceToken = async (): ReturnType<typeof tokenAt> => tokenAt(t, here, there);

    const first = await family();
    const second = await family();
    for (const { access } of [first, second]) t.is((await there.api('/identity', access)).status, 200);
    await here.auth.revoke({ token: first.access });
    await untilRefused(t, there, first.access);
    t.is((await there.api('/identity', second.access)).status, 200);
    await here.auth.revoke({ userId: '1' });
    await untilRefused(t, there, second.access);

    const service = await serviceToken();
    await here.auth.clients.disable(service.id);
    await untilRefused(t, there, service.token, 'token_holder_gone');

    // Without a server, as the command line does.
    const other = await serviceToken();
    const administration = createAdministration({ storage: knexStorage(address) });
    await administration.revoke({ clientId: other.id });
    await administration.close();
    await untilRefused(t, there, other.token);

    // The connection is opened again when it was lost, and what was revoked meanwhile is known then.
    const last = await serviceToken();
    await admin.raw(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
      where datname = current_database() and query = 'listen gatehouse_changes'`);
    await here.auth.revoke({ clientId: last.id });
    await untilRefused(t, there, last.token);
    await untilListening(admin, 2);

    // What cannot be read stands for any change.
    const kept = await serviceToken();
    await admin('gatehouse_revocations').insert({
      kind: 'client',
      value: kept.id,
      revoked_at: 1,
      expires_at: Number.MAX_SAFE_INTEGER,
      sequence: 1000,
    });
    t.is((await there.api('/identity', kept.token)).status, 200);
    await admin.raw(`notify gatehouse_changes, 'nonsense'`);
    await untilRefused(t, there, kept.token);
  },
  [postgresql],
);

onEachDatabase(
  'a LISTEN connection that is dropped without a word is noticed within ten seconds, and a server that is told not to listen has none',
  async (t, _database, address) => {
    const admin = connect(POSTGRESQL, address);
    const proxy = endWith(t, await startDatabaseProxy(address));
    t.teardown(async () => admin.destroy());
    await using here = await startPlatform({
      storage: knexStorage(address, { listen: false }),
      tokens: { revocationLag },
    });
    await using there = await startPlatform({
      storage: knexStorage(address, { listen: proxy.address }),
      tokens: { revocationLag },
      issuer: here.origin,
    });
    await untilListening(admin, 1);
    const other = await tokenAt(t, there, here);
    await there.auth.revoke({ clientId: other.id });
    t.is((await there.api('/identity', other.token)).status, 401);
    t.is((await here.api('/identity', other.token)).status, 200, 'as on other databases');

    const { id, token } = await tokenAt(t, here, there);
    proxy.freeze();
    proxy.thaw();
    const droppedAt = performance.now();
    await here.auth.revoke({ clientId: id });
    await untilRefused(t, there, token);
    // Asked every 5 s, the connection has until the next time to answer; then a new one is opened after up to 2 s.
    const took = performance.now() - droppedAt;
    t.true(took < 15_000, `${took}`);
  },
  [postgresql],
);

if (hasPgBouncer) {
  onEachDatabase(
    'through PgBouncer a server tells the others, and knows what they revoke with an address of its own for LISTEN',
    async (t, _database, address) => {
      const admin = connect(POSTGRESQL, address);
      const bouncer = await startPgBouncer(address);
      const shared = connect(POSTGRESQL, bouncer.address);
      t.teardown(async () => {
        await shared.destroy();
        await admin.destroy();
        await bouncer.remove();
      });
      await using here = await startPlatform({
        storage: knexStorage(bouncer.address),
        tokens: { revocationLag },
      });
      await using there = await startPlatform({
        storage: knexStorage(bouncer.address, { listen: address }),
        tokens: { revocationLag },
        issuer: here.origin,
      });
      await untilListening(admin, 1);
      const { id, token } = await tokenAt(t, here, there);
      await here.auth.revoke({ clientId: id });
      await untilRefused(t, there, token);
      t.deepEqual((await shared.raw('select * from pg_listening_channels()')).rows, []);

      t.deepEqual(await there.auth.doctor(), []);
      const OFF = 'so a server learns of revocations on other nodes only within tokens.revocationLag.';
      const [finding, ...others] = await here.auth.doctor();
      t.like(finding, {
        code: 'notifications_off',
        severity: 'warning',
        message: `The database is behind a pooler such as PgBouncer, which passes no notifications on, ${OFF}`,
      });
      t.deepEqual(others, []);
      const away = knexStorage(bouncer.address, { listen: 'postgres://postgres@127.0.0.1:1/postgres' });
      const administration = createAdministration({ storage: away });
      t.teardown(async () => administration.close());
      const message = `The address for notifications cannot be reached, ${OFF}`;
      t.like(await administration.doctor(), { 0: { code: 'notifications_off', message } });
    },
    [postgresql],
  );
} else {
  sayMissing('there is no PgBouncer: install pgbouncer as Debian packages it');
}
