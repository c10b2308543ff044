import { setImmediate as nextTurn } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { storageContract } from '../../storage/storage-contract.ts';

import { aClient, aCode, aConsent, aGrant, aSecret, aSession } from '../../storage/rows.ts';
import { mariadb, onEachDatabase, postgresql, sqlite } from '../../adapters/databases.ts';
import { hostKnex, openHost, openNodes } from '../../adapters/host-knex.ts';
import { isRace, nodesInTurn } from '../../adapters/nodes-in-turn.ts';
import { PATIENT, serverContract } from '../../adapters/server-contract.ts';

const isolation = 'transaction isolation level';

/** What a host sends on each of its connections. */
const SETTINGS = [
  [postgresql, 'pg', `set session characteristics as ${isolation} repeatable read`],
  [postgresql, 'pg', `set session characteristics as ${isolation} serializable`],
  [mariadb, 'mysql2', `set session ${isolation} read uncommitted`],
  [mariadb, 'mysql2', `set session ${isolation} read committed`],
  [mariadb, 'mysql2', `set session ${isolation} serializable`],
  // The default from MariaDB 11.6 on.
  [mariadb, 'mysql2', 'set session innodb_snapshot_isolation = on'],
] as const;

// What is decided by what a statement reads of the changes of others.
const DECISION = / (redeem|grants|audit|idempotency|credentials|revocations|sessions): /;

storageContract(
  (title, run) => {
    if (isRace(title)) sqlite.register(`SQLite, four nodes: ${title}`, async (t) => run(t));
  },
  async () => {
    const address = await sqlite.cleared();
    return nodesInTurn(Array.from({ length: 4 }, () => knexStorage(address, PATIENT)));
  },
);

for (const [database, client, setting] of SETTINGS) {
  serverContract(
    {
      ...database,
      register(title, run) {
        if (isRace(title) && DECISION.test(title)) database.register(`${database.name}, ${title}`, run);
      },
    },
    (address) => {
      const hosts = [1, 2].map(() => hostKnex(client, address, setting));
      return {
        ...nodesInTurn(hosts.map((host) => knexStorage(host, PATIENT))),
        close: async () => void (await Promise.all(hosts.map(async (host) => host.destroy()))),
      };
    },
    `${setting}: `,
  );
}

onEachDatabase(
  'when nodes end users at once, each end has its own number, and no reader sees one without those before it',
  async (t, { client }, address) => {
    const nodes = openNodes(t, 4, address);
    const host = openHost(t, client, address);
    await nodes[0].migrate();
    const done = new AbortController();
    const seen: { sequence: number; ends: number; greatest: number }[] = [];
    const watching = (async () => {
      while (!done.signal.aborted) {
        const [row] = await host('gatehouse_revocations')
          .sum({ ends: host.raw(`case when kind = 'user' then 1 else 0 end`) })
          .max({ greatest: host.raw(`case when kind = 'user' then sequence else 0 end`) })
          .max({ sequence: host.raw(`case when kind = 'sequence' then sequence else 0 end`) });
        const { ends, greatest, sequence } = row as Record<string, unknown>;
        seen.push({ ends: Number(ends), greatest: Number(greatest), sequence: Number(sequence) });
        await nextTurn();
      }
    })();
    await Promise.all(
      nodes.map(async ({ revocations }, node) => {
        for (let user = 0; user < 25; user += 1) await revocations.revokeAllOf({ userId: `${node} ${user}` });
      }),
    );
    done.abort();
    await watching;

    const numbers = (await host('gatehouse_revocations').where({ kind: 'user' }).pluck('sequence')).map(
      Number,
    );
    t.is(new Set(numbers).size, 100);
    for (const { sequence, ends, greatest } of seen) {
      t.is(ends, numbers.filter((number) => number <= sequence).length);
      t.is(greatest, ends === 0 ? 0 : sequence);
    }
  },
);

// What a Galera cluster replicates, and compares with the changes of other members at the commit, is changes and no locks.
mariadb.register('MariaDB: what relies on a consent, a session or a client changes its row', async (t) => {
  const address = await mariadb.cleared();
  const host = openHost(t, 'mysql2', address);
  const { clients, consents, grants, sessions, ...storage } = knexStorage(host);
  await storage.migrate();
  await consents.add(aConsent());
  await sessions.insert(aSession());
  await clients.insert(aClient(), []);
  const rows = async (): Promise<unknown[]> => [
    await host('gatehouse_consents').first(),
    await host('gatehouse_sessions').first(),
    await host('gatehouse_clients').first(),
  ];
  const prerequisites = { consent: aConsent(), sessionId: aSession().id };

  const [consent, session, client] = await rows();
  t.true(await grants.insert(aGrant(), aCode(), prerequisites));
  t.true(await clients.addSecret(aClient().id, aSecret()));
  const [consentAfter, sessionAfter, clientAfter] = await rows();
  t.notDeepEqual(consentAfter, consent);
  t.notDeepEqual(sessionAfter, session);
  t.notDeepEqual(clientAfter, client);
  t.true(await grants.insert(aGrant({ id: '2' }), aCode({ id: '2' }), prerequisites));
  t.notDeepEqual((await rows())[0], consentAfter, 'in the same second too');
});
