import test from 'ava';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aKey,
  anInteraction,
  aRefreshToken,
  aRevocation,
  aSecret,
  aSession,
  NOW,
} from '../../lib/testing/storage/rows.ts';
import { temporaryFile } from './temporary-file.ts';

interface Connection {
  prepare(sql: string): unknown;
}

test('no statement reads a whole table, but the list of clients', async (t) => {
  const prepared: string[] = [];
  const database = knex({
    client: 'better-sqlite3',
    connection: { filename: temporaryFile() },
    useNullAsDefault: true,
    pool: {
      afterCreate(connection: Connection, done: (error?: Error) => void) {
        const prepare = connection.prepare.bind(connection);
        connection.prepare = (sql) => {
          prepared.push(sql);
          return prepare(sql);
        };
        done();
      },
    },
  });
  t.teardown(async () => database.destroy());
  const storage = knexStorage(database);
  await storage.migrate();
  prepared.length = 0;

  const { id } = aClient();
  await storage.clients.insert(aClient(), [aSecret()]);
  await storage.clients.find(id);
  await storage.clients.update(aClient());
  await storage.clients.addSecret(id, aSecret({ id: 'second' }));
  await storage.clients.removeSecret(id, 'second');
  await storage.clients.touchSecret(id, aSecret().id, NOW);
  await storage.clients.list({ ownerId: 'ann' });
  await storage.consents.save(aConsent());
  await storage.consents.find('ann', id);
  await storage.consents.list('ann');
  await storage.consents.remove('ann', id);
  await storage.credentials.start(aGrant(), aCode());
  await storage.credentials.find('code', aCode().id);
  const successor = aRefreshToken({ expiresAt: NOW * 2 });
  await storage.credentials.redeem(aCode(), { at: NOW, successor });
  await storage.grants.find(aGrant().id);
  await storage.grants.list('ann');
  await storage.grants.revoke({ id: aGrant().id }, NOW);
  await storage.grants.revoke({ userId: 'ann' }, NOW);
  await storage.grants.revoke({ userId: 'ann', clientId: id }, NOW);
  await storage.grants.revoke({ clientId: id }, NOW);
  await storage.revocations.add(aRevocation());
  await storage.revocations.among([aRevocation(), aRevocation({ kind: 'grant' })]);
  await storage.revocations.since(NOW);
  await storage.sessions.save(aSession());
  await storage.sessions.find(aSession().id);
  await storage.sessions.findByUid(aSession().uid);
  await storage.sessions.remove(aSession().id);
  await storage.sessions.removeOfUser('ann');
  await storage.interactions.save(anInteraction());
  await storage.interactions.find(anInteraction().id);
  await storage.interactions.remove(anInteraction().id);
  await storage.keys.add(aKey());
  await storage.keys.list('token');
  await storage.keys.retire(aKey().id, NOW);
  await storage.keys.remove(aKey().id);
  await storage.prune(NOW, 100);
  await storage.clients.remove(id);

  const statements = prepared.filter((sql) => sql.includes('gatehouse_'));
  t.true(statements.length > 40);
  for (const sql of new Set(statements)) {
    const values = Array.from({ length: sql.split('?').length - 1 }, () => null);
    const plan: { detail: string }[] = await database.raw(`explain query plan ${sql}`, values);
    t.deepEqual(
      plan.filter(({ detail }) => /^SCAN (?!CONSTANT)/.test(detail)),
      [],
      sql,
    );
  }
});
