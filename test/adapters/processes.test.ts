import { once } from 'node:events';

import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Redemption, Storage } from '../../lib/contracts.ts';
import { aCode, aGrant, aRequest, HOUR, NOW } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase } from './databases.ts';
import { start, startCluster } from './processes.ts';

const NODES = ['a', 'b', 'c', 'd'];
const cluster = startCluster(NODES.length);

/** A storage with so many codes in it, each with a grant of the same id. */
async function withCodes(
  t: ExecutionContext,
  address: string,
  count: number,
): Promise<{ storage: Storage; codes: string[] }> {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  await storage.migrate();
  const codes = Array.from({ length: count }, (_, index) => `code ${index}`);
  for (const id of codes) await storage.credentials.start(aGrant({ id }), aCode({ id, grantId: id }));
  return { storage, codes };
}

onEachDatabase(
  'of a hundred redemptions of one code by four processes, one wins',
  async (t, _database, address) => {
    const { storage, codes } = await withCodes(t, address, 1);
    const ended = await cluster.atOnce<Redemption[][]>(
      address,
      NODES.map((by) => ({ do: 'redeem', codes, times: 25, by })),
    );

    const attempts = ended.flatMap(([ofTheCode = []], node) =>
      ofTheCode.map((redemption, time) => ({ by: `${NODES[node]} ${time}`, redemption })),
    );
    t.is(attempts.length, 100);
    const winners = attempts.filter(({ redemption }) => redemption.outcome === 'redeemed');
    t.is(winners.length, 1);
    const winner = winners[0]!.by;
    for (const { by, redemption } of attempts) {
      const successor = await storage.credentials.find('refresh_token', `code 0 ${by}`);
      t.is(successor !== undefined, by === winner, by);
      if (by === winner) continue;
      t.deepEqual(redemption, { outcome: 'spent', consumedAt: NOW, sealedSuccessor: winner });
    }
  },
);

onEachDatabase(
  'processes that redeem the same codes at once have one winner each',
  async (t, _database, address) => {
    const { storage, codes } = await withCodes(t, address, 100);
    const ended = await cluster.atOnce<Redemption[][]>(
      address,
      NODES.map((by) => ({ do: 'redeem', codes, times: 1, by })),
    );

    for (const [index, code] of codes.entries()) {
      const winners = NODES.filter((_name, node) => ended[node]?.[index]?.[0]?.outcome === 'redeemed');
      t.is(winners.length, 1, code);
      const successors = await Promise.all(
        NODES.map(async (by) => storage.credentials.find('refresh_token', `${code} ${by} 0`)),
      );
      t.deepEqual(
        successors.flatMap((found) => found?.credential.id ?? []),
        [`${code} ${winners[0]} 0`],
      );
    }
  },
);

onEachDatabase(
  'processes that redeem and processes that revoke leave nothing living',
  async (t, _database, address) => {
    const { storage, codes } = await withCodes(t, address, 100);
    const backwards = codes.toReversed();
    const [a, b, ...revoked] = await cluster.atOnce(address, [
      { do: 'redeem', codes, times: 1, by: 'a' },
      { do: 'redeem', codes: backwards, times: 1, by: 'b' },
      { do: 'revoke', grants: codes },
      { do: 'revoke', grants: backwards },
    ]);

    const allRevoked = revoked.flat() as string[];
    t.is(allRevoked.length, codes.length, 'each grant is revoked once');
    t.deepEqual(new Set(codes).difference(new Set(allRevoked)), new Set());
    const [byA, byB] = [(a as Redemption[][]).flat(), (b as Redemption[][]).toReversed().flat()];
    for (const [index, code] of codes.entries()) {
      const outcomes = [byA[index]?.outcome, byB[index]?.outcome];
      const redeemed = outcomes.filter((outcome) => outcome === 'redeemed').length;
      t.true(redeemed <= 1, code);
      for (const id of [`${code} a 0`, `${code} b 0`]) {
        t.is(await storage.credentials.find('refresh_token', id), undefined);
      }
      const [record] = await storage.revocations.among([{ kind: 'grant', value: code }]);
      // Whoever redeemed in time holds an access token, so the record has to last as long as the successor.
      if (redeemed === 1) t.is(record?.expiresAt, NOW + 100 * HOUR, code);
    }
  },
);

onEachDatabase(
  'processes that begin the same requests at once have one winner each, and so have those that take over',
  async (t, _database, address) => {
    const { storage } = await withCodes(t, address, 0);
    const requests = Array.from({ length: 25 }, (_, index) => `request ${index}`);
    for (const now of [NOW, NOW + 30]) {
      const begun = await cluster.atOnce<string[]>(
        address,
        NODES.map((by) => ({ do: 'begin', requests, times: 5, by: `${by} at ${now}`, now })),
      );
      const winners = begun.flat();
      t.is(winners.length, requests.length);
      for (const id of requests) {
        const running = await storage.idempotency.begin(aRequest({ id, attempt: 'late' }), now);
        t.true(winners.includes(`${id}: ${running?.attempt}`), id);
      }
    }
  },
);

onEachDatabase('processes that migrate at once run each migration once', async (t, _database, address) => {
  const pending = await cluster.atOnce(
    address,
    NODES.map(() => ({ do: 'migrate' })),
  );
  t.deepEqual(pending, [[], [], [], []]);
});

onEachDatabase(
  'a process that is killed while it migrates leaves no lock behind',
  async (t, { client }, address) => {
    const child = start('migrating-process.ts', client, address, 'gatehouse_grants');
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');

    const { storage } = await withCodes(t, address, 1);
    t.deepEqual(await storage.pendingMigrations(), []);
    t.is((await storage.credentials.find('code', 'code 0'))?.grant.id, 'code 0');
  },
);
