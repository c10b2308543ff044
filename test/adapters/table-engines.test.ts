import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { mariadb, onEachDatabase } from './databases.ts';
import { hostKnex, openHost } from './host-knex.ts';

onEachDatabase(
  'tables are InnoDB whatever engine is the default of the server, and others are found',
  async (t, { client }, address) => {
    const ofServer = hostKnex('mysql2', address, 'set session default_storage_engine = Aria');
    t.teardown(async () => ofServer.destroy());
    await knexStorage(ofServer).migrate();
    const host = openHost(t, client, address);
    const [tables] = await host.raw(
      "select distinct engine from information_schema.tables where table_schema = database() and table_name like 'gatehouse%'",
    );
    t.deepEqual(tables, [{ engine: 'InnoDB' }]);
    const storage = knexStorage(host);
    t.deepEqual((await storage.diagnose()).withoutTransactions, []);

    for (const table of ['sessions', 'grants', 'keys', 'consents'])
      await host.raw(`alter table gatehouse_${table} engine = Aria`);
    // That of another application.
    await host.raw('create table gatehouses (id int primary key) engine = Aria');
    t.deepEqual((await storage.diagnose()).withoutTransactions, [
      'gatehouse_consents',
      'gatehouse_grants',
      'gatehouse_keys',
      'gatehouse_sessions',
    ]);
    const findings = await createAdministration({ storage }).doctor();
    t.deepEqual(
      findings.find(({ code }) => code === 'tables_without_transactions'),
      {
        code: 'tables_without_transactions',
        severity: 'error',
        message:
          'Tables of the database have no transactions: gatehouse_consents, gatehouse_grants, gatehouse_keys and 1 more.',
        remedy:
          'Run for each of them, while no server runs: `alter table gatehouse_consents engine = InnoDB`.',
      },
    );
  },
  [mariadb],
);
