import type { Knex } from 'knex';

import { withConnectionSettings } from '../../adapters/knex/connection-settings.ts';
import { connect } from '../../adapters/knex/open-database.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';

onEachDatabase(
  'connections opened by the storage have lock and idle timeouts, unless the config sets others',
  async (t, { client }, address) => {
    const isPg = client === 'pg';
    const settingsOf = async (config: Knex.Config): Promise<unknown> => {
      const opened = connect(withConnectionSettings(config, 2500));
      t.teardown(async () => opened.destroy());
      t.is(opened.client.pool.min, 0, 'an idle connection is closed');
      const answer = await opened.raw(
        isPg
          ? `select current_setting('lock_timeout') as locks, current_setting('statement_timeout') as statements,
              current_setting('idle_in_transaction_session_timeout') as idle`
          : 'select @@innodb_lock_wait_timeout as locks, @@idle_transaction_timeout as idle, @@wsrep_sync_wait as waits',
      );
      return isPg ? answer.rows[0] : { ...answer[0][0] };
    };
    t.deepEqual(
      await settingsOf({ client, connection: address }),
      isPg ? { locks: '2500ms', statements: '2500ms', idle: '2500ms' } : { locks: 3, idle: 3, waits: 7 },
    );
    const pool: Knex.PoolConfig = {
      afterCreate(connection: { query(sql: string, done: () => void): void }, done: () => void) {
        connection.query(`set session ${isPg ? 'lock_timeout' : 'innodb_lock_wait_timeout'} = 1`, done);
      },
    };
    t.like(await settingsOf({ client, connection: address, pool }), { locks: isPg ? '1ms' : 1 });
    if (!isPg) return;
    const options = { connectionString: address, statement_timeout: 4321 };
    t.like(await settingsOf({ client: 'postgresql', connection: options }), {
      locks: '2500ms',
      statements: '4321ms',
    });
  },
  [postgresql, mariadb],
);
