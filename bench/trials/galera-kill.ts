import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aSession } from '../../test/storage/rows.ts';
import type { GaleraCluster } from './galera-cluster.ts';
import { startBalancer } from './galera-nodes.ts';
import type { Finding } from './report.ts';

// On each member, of another application: far more than the storage has connections, so that the ids coincide.
const STRANGERS = 40;
const STATEMENTS = 8;

/** Statements are stopped through a load balancer, while another application's statements with the same ids run. */
export async function stopThroughBalancer(cluster: GaleraCluster, rounds: number): Promise<Finding> {
  const broken: string[] = [];
  let sameIds = 0;
  const addresses = await cluster.createDatabase('balanced');
  // Without checks, each of which would take an id on its member.
  await using balancer = await startBalancer(cluster, '');
  const storage = knexStorage(addresses[0]!);
  await storage.migrate();
  await storage.sessions.insert(aSession());
  await storage.close();

  for (let round = 0; round < rounds; round += 1) {
    const strangers = addresses.map((address) => open(address, STRANGERS));
    const holders = addresses.map((address) => open(address, 1));
    const host = open(`mysql://root@127.0.0.1:${balancer.port}/balanced`, STATEMENTS);
    const held = await Promise.all(holders.map(async (holder) => holder.transaction()));
    for (const transaction of held) await transaction('gatehouse_sessions').forUpdate();

    const ids: { readonly member: number; readonly id: number }[] = [];
    const sleeping = strangers.flatMap((stranger, member) =>
      Array.from({ length: STRANGERS }, async () => {
        try {
          const [rows] = await stranger.raw('select connection_id() as id, sleep(6)');
          ids.push({ member, id: rows[0].id });
          return false;
        } catch (error) {
          if (!String(error).includes('interrupted')) throw error;
          return true;
        }
      }),
    );
    const stopping = knexStorage(host, { timeout: '2 seconds' });
    const calls = Array.from({ length: STATEMENTS }, async () => stopping.sessions.update(aSession()));
    const victims = waitingStatements(held);
    await Promise.allSettled(calls);
    const interrupted = (await Promise.all(sleeping)).filter(Boolean).length;
    sameIds += interrupted;
    for (let count = 0; count < interrupted; count += 1) {
      broken.push('a statement of another application was stopped');
    }
    for (const { member, id } of await victims) {
      if (ids.some((other) => other.member !== member && other.id === id)) sameIds += 1;
    }
    for (const transaction of held) await transaction.rollback();
    await Promise.all([...strangers, ...holders, host].map(async (one) => one.destroy()));
  }
  return {
    what: 'statements that are stopped through a load balancer',
    count: rounds * STATEMENTS,
    broken,
    note: `${sameIds} had the id of another application's statement on another member`,
  };
}

/** The connections that wait for the locked row, once all of them do. */
async function waitingStatements(
  held: readonly Knex.Transaction[],
): Promise<{ member: number; id: number }[]> {
  const deadline = performance.now() + 1800;
  for (;;) {
    const found = await Promise.all(
      held.map(async (transaction, member) => {
        const [rows]: { id: number }[][] = await transaction.raw(
          `select id from information_schema.processlist where info like '%update gatehouse_sessions set payload%' and id <> connection_id()`,
        );
        return rows!.map(({ id }) => ({ member, id }));
      }),
    );
    if (found.flat().length >= STATEMENTS || performance.now() > deadline) return found.flat();
  }
}

function open(address: string, connections: number): Knex {
  return knex({
    client: 'mysql2',
    connection: address,
    pool: { min: 0, max: connections },
    log: { warn() {}, error() {} },
  });
}
