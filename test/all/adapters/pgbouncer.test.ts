import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken } from '../../storage/rows.ts';
import { onEachDatabase, postgresql } from '../../adapters/databases.ts';
import { sayMissing } from '../../harness/missing.ts';
import { hasPgBouncer, startPgBouncer } from '../../adapters/pgbouncer.ts';
import { connect, POSTGRESQL } from '../../adapters/servers.ts';

const TIMEOUT = 1000;

if (hasPgBouncer) {
  onEachDatabase(
    'PgBouncer: a statement that takes too long is ended on the server',
    async (t, _database, address) => {
      const bouncer = await startPgBouncer(address);
      // No limit of the server's own ends the statement.
      const host = connect(POSTGRESQL, bouncer.address);
      const storage = knexStorage(host, { timeout: `${TIMEOUT} ms` });
      const direct = connect(POSTGRESQL, address);
      t.teardown(async () => {
        await host.destroy();
        await direct.destroy();
        await bouncer.remove();
      });
      const first = knexStorage(address);
      await first.migrate();
      await first.grants.insert(aGrant(), aCode());
      await first.close();
      const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };

      const locking = await direct.transaction();
      await locking.raw('select id from gatehouse_grants for update');
      await t.throwsAsync(storage.grants.redeem(aCode(), exchange), {
        code: 'ERR_STORAGE',
        message: `The database did not finish within ${TIMEOUT} ms and was cancelled. Nothing was changed; try again.`,
      });
      await locking.rollback();
      const running = async (): Promise<number> =>
        Number(
          (
            await direct('pg_stat_activity')
              .whereRaw(`datname = current_database() and state = 'active' and pid <> pg_backend_pid()`)
              .count()
          )[0]!['count'],
        );
      while ((await running()) > 0) await delay(10);
      t.is(
        (await storage.grants.findCredential('code', aCode().id))?.credential.consumedAt,
        undefined,
        'the statement did not go on',
      );
      t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
    },
    [postgresql],
  );

  onEachDatabase(
    'PgBouncer: other applications on its connections keep their settings',
    async (t, _database, address) => {
      const bouncer = await startPgBouncer(address);
      const storage = knexStorage(bouncer.address, { timeout: `${TIMEOUT} ms` });
      const other = connect(POSTGRESQL, bouncer.address);
      t.teardown(async () => {
        await storage.close();
        await other.destroy();
        await bouncer.remove();
      });
      await storage.migrate();
      await storage.grants.insert(aGrant(), aCode());
      const { rows } = await other.raw(`
        select name, setting from pg_settings where setting <> '0'
        and name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')`);
      t.deepEqual(rows, []);
    },
    [postgresql],
  );
} else {
  sayMissing('there is no PgBouncer: install pgbouncer as Debian packages it');
}
