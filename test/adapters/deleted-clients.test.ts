import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import type { RegistrationStore } from '../../lib/features/agents/types.ts';
import { aClient, aCode, aConsent, aGrant, aSecret, HOUR, NOW } from '../storage/rows.ts';
import { aRegistered, registrationsOf } from '../agents/store-contract.ts';
import { contentsOf } from './contents.ts';
import { onEachDatabase } from './databases.ts';

const DAY = 24 * HOUR;
const PLACES = { limit: 1, perUser: 5, unusedSince: NOW, now: NOW };

const DELETIONS: Readonly<Record<string, (storage: Storage) => Promise<unknown>>> = {
  'clients.delete': async ({ clients }) => clients.delete('left'),
  'registrations.insert, to which it gives way': async (storage) =>
    (await registrationsOf(storage)).insert(registered('next'), PLACES),
  'registrations.deleteUnused': async (storage) =>
    (await registrationsOf(storage)).deleteUnused(NOW + HOUR, 10),
};

function registered(id: string): Parameters<RegistrationStore['insert']>[0] {
  return {
    ...aRegistered(id, { removableAt: NOW }),
    secrets: [aSecret({ id: `of ${id}`, hash: `of ${id}` })],
  };
}

/** The tables with a row that names a client, besides those of ends, which are about tokens of it. */
async function tablesWith(id: string, ...place: Parameters<typeof contentsOf>): Promise<readonly string[]> {
  const tables = await contentsOf(...place);
  return [...tables].flatMap(([table, rows]) =>
    table !== 'gatehouse_revocations' && rows.some((row) => Object.values(row).includes(id)) ? [table] : [],
  );
}

for (const [name, remove] of Object.entries(DELETIONS))
  onEachDatabase(
    `${name}: of a client that registered itself, no row is left`,
    async (t, database, address) => {
      const storage = knexStorage(address);
      t.teardown(async () => storage.close());
      await storage.migrate();
      const registrations = await registrationsOf(storage);
      await registrations.insert(registered('left'), PLACES);
      t.true((await tablesWith('left', database, address)).includes('gatehouse_client_names'));
      await remove(storage);
      const ends = (await contentsOf(database, address)).get('gatehouse_revocations')!;
      const ofClient = ends.filter(({ value }) => value === 'left');
      t.true(
        ofClient.every(({ expires_at: at }) => at !== null && Number(at) < Date.now() / 1000 + 2 * DAY),
        'nor does its end stay',
      );
      t.deepEqual(await tablesWith('left', database, address), []);
    },
  );

onEachDatabase('clients.delete: nor is one of a client of the platform', async (t, database, address) => {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  await storage.migrate();
  await storage.clients.insert(aClient({ id: 'left' }), [aSecret()]);
  await storage.consents.add(aConsent({ clientId: 'left' }));
  await storage.grants.insert(aGrant({ clientId: 'left' }), aCode());
  t.true(await storage.clients.delete('left'));
  t.deepEqual(await tablesWith('left', database, address), []);
});
