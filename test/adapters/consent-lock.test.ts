import { setTimeout as delay } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aCode, aConsent, aGrant, aSecret, NOW } from '../../lib/testing/storage/rows.ts';
import { mariadb, postgresql } from './databases.ts';
import { hostKnex } from './host-knex.ts';

// SQLite has one writer at a time. At MariaDB's own isolation level an `insert ... select` locks what it reads anyway.
for (const [{ name, register, empty }, client, level] of [
  [postgresql, 'pg', 'read committed'],
  [mariadb, 'mysql2', 'repeatable read'],
  [mariadb, 'mysql2', 'read committed'],
] as const) {
  const setting =
    client === 'pg'
      ? `set session characteristics as transaction isolation level ${level}`
      : `set session transaction isolation level ${level}`;

  /** A storage with a consent, and a second program's connections to the same database. */
  async function prepare(t: ExecutionContext): Promise<{ other: Knex; storage: Storage }> {
    const address = await empty();
    const host = hostKnex(client, address, setting);
    const other = knex({ client, connection: address, pool: { min: 0, max: 2 } });
    t.teardown(async () => {
      await host.destroy();
      await other.destroy();
    });
    const storage = knexStorage(host);
    await storage.migrate();
    await storage.consents.add(aConsent());
    return { other, storage };
  }

  register(`${name}, ${level}: no code is issued on a consent that is being removed`, async (t) => {
    const { other, storage } = await prepare(t);

    const disconnecting = await other.transaction();
    t.teardown(async () => {
      if (!disconnecting.isCompleted()) await disconnecting.rollback();
    });
    await disconnecting('gatehouse_consents').delete();
    let isDecided = false;
    const starting = storage.grants.insert(aGrant(), aCode(), { consent: aConsent() }).finally(() => {
      isDecided = true;
    });
    await delay(200);
    t.false(isDecided, 'it waits for the removal of the consent');
    await disconnecting.commit();
    t.false(await starting);
    t.is(await storage.grants.find(aGrant().id), undefined);
    t.is(await storage.grants.findCredential('code', aCode().id), undefined);
  });

  register(
    `${name}, ${level}: a consent is removed only when the code issued on it can be revoked`,
    async (t) => {
      const { other, storage } = await prepare(t);

      // This row delays the insert of the code: the grant is not committed yet.
      const blocking = await other.transaction();
      t.teardown(async () => {
        if (!blocking.isCompleted()) await blocking.rollback();
      });
      await blocking('gatehouse_credentials').insert({
        id: aCode().id,
        kind: 'code',
        grant_id: 'another',
        payload: '{}',
        expires_at: NOW,
      });
      const starting = storage.grants.insert(aGrant(), aCode(), { consent: aConsent() });
      await delay(200);
      let isRemoved = false;
      const removing = storage.consents.delete('ann', 'timetable').finally(() => {
        isRemoved = true;
      });
      await delay(200);
      t.false(isRemoved, 'it waits for the grant of the consent');
      await blocking.rollback();
      t.true(await starting);
      t.true(await removing);
      t.deepEqual(await storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW), [aGrant().id]);
    },
  );
}

// What a Galera cluster replicates, and compares with the changes of other members at the commit, is changes and no locks.
mariadb.register('MariaDB: what relies on a consent or a client changes its row', async (t) => {
  const address = await mariadb.empty();
  const other = knex({ client: 'mysql2', connection: address, pool: { min: 0, max: 1 } });
  const storage = knexStorage(address);
  t.teardown(async () => {
    await other.destroy();
    await storage.close();
  });
  await storage.migrate();
  await storage.consents.add(aConsent());
  await storage.clients.insert(aClient(), []);
  const changes = async (): Promise<unknown[]> => [
    await other('gatehouse_consents').first(),
    await other('gatehouse_clients').first(),
  ];

  const [consent, client] = await changes();
  t.true(await storage.grants.insert(aGrant(), aCode(), { consent: aConsent() }));
  t.true(await storage.clients.addSecret(aClient().id, aSecret()));
  const [consentAfter, clientAfter] = await changes();
  t.notDeepEqual(consentAfter, consent);
  t.notDeepEqual(clientAfter, client);

  const again = aGrant({ id: 'grant-2' });
  t.true(await storage.grants.insert(again, aCode({ id: 'code-2' }), { consent: aConsent() }));
  t.notDeepEqual((await changes())[0], consentAfter, 'in the same second too');
});
