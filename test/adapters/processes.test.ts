// Alone, first: it starts and kills processes.
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Redemption, Storage, TokenInQuestion } from '../../lib/contracts/index.ts';
import { aCode, aGrant, aRequest, HOUR, NOW } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase, onEachEmptyDatabase } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { start, startCluster } from './processes.ts';
import type { Begun } from './processes.ts';
import { connectHost } from './host-knex.ts';

const NODES = ['a', 'b', 'c', 'd'];
const cluster = startCluster(NODES.length);

/** A storage with a number of codes, each with a grant of the same id. */
async function withCodes(
  t: ExecutionContext,
  address: string,
  count: number,
): Promise<{ storage: Storage; codes: string[] }> {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  await storage.migrate();
  const codes = Array.from({ length: count }, (_, index) => `code ${index}`);
  for (const id of codes) await storage.grants.insert(aGrant({ id }), aCode({ id, grantId: id }));
  return { storage, codes };
}

function tokenOf(id: string, userId = 'ann'): TokenInQuestion {
  return { id, clientId: 'timetable', grant: { id, userId }, sequence: 0 };
}

function connect(t: ExecutionContext, client: TestDatabase['client'], address: string): Knex {
  const host = connectHost(client, address);
  t.teardown(async () => host.destroy());
  return host;
}

/** The sequence numbers at which the users were ended. */
async function endsOf(
  t: ExecutionContext,
  client: TestDatabase['client'],
  address: string,
): Promise<Map<string, number>> {
  const rows = await connect(t, client, address)('gatehouse_revocations').where({ kind: 'user' });
  return new Map(rows.map(({ value, sequence }) => [value, Number(sequence)]));
}

onEachDatabase(
  'of a hundred redemptions of one code by four processes, one succeeds',
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
      const successor = await storage.grants.findCredential('refresh_token', `code 0 ${by}`);
      t.is(successor !== undefined, by === winner, by);
      if (by === winner) continue;
      t.deepEqual(redemption, { outcome: 'spent', sealedSuccessor: winner });
    }
  },
);

onEachDatabase(
  'when processes redeem the same codes at once, each code has one successor',
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
        NODES.map(async (by) => storage.grants.findCredential('refresh_token', `${code} ${by} 0`)),
      );
      t.deepEqual(
        successors.flatMap((found) => found?.credential.id ?? []),
        [`${code} ${winners[0]} 0`],
      );
    }
  },
);

onEachDatabase(
  'when processes redeem and revoke the same grants at once, no token stays valid',
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
        t.is(await storage.grants.findCredential('refresh_token', id), undefined);
      }
      t.false(await storage.revocations.isValid(tokenOf(code)), code);
    }

    await storage.prune(NOW + 100 * HOUR, 10_000);
    for (const [index, code] of codes.entries()) {
      const isRedeemed = [byA, byB].some((ended) => ended[index]?.outcome === 'redeemed');
      // A redemption that succeeded returned an access token, so the revoked grant is kept as long as the successor.
      t.is((await storage.grants.find(code))?.revokedAt, isRedeemed ? NOW : undefined, code);
    }
  },
);

onEachDatabase(
  'when processes log in and end the same users at once, only what began after the end stays valid',
  async (t, { client }, address) => {
    const { storage } = await withCodes(t, address, 0);
    const users = Array.from({ length: 20 }, (_, index) => `user ${index}`);
    const first = await storage.revocations.latestSequence();
    const [byA, byB] = await cluster.atOnce<Begun[]>(address, [
      { do: 'login', users, times: 4, by: 'a' },
      { do: 'login', users: users.toReversed(), times: 4, by: 'b' },
      { do: 'end', users },
      { do: 'end', users: users.toReversed() },
    ]);

    const ends = await endsOf(t, client, address);
    t.deepEqual([...ends.keys()].toSorted(), users.toSorted());
    t.is(new Set(ends.values()).size, users.length);
    t.true((await storage.revocations.latestSequence()) >= first + 2 * users.length);
    let endedCount = 0;
    for (const { id, userId, sequence } of [...byA!, ...byB!]) {
      const isEnded = sequence < ends.get(userId)!;
      if (isEnded) endedCount += 1;
      const what = `${id}, begun at ${sequence}, ended at ${ends.get(userId)}`;
      t.is((await storage.sessions.find(id)) === undefined, isEnded, what);
      t.is((await storage.grants.findCredential('refresh_token', id)) === undefined, isEnded, what);
      t.is(await storage.revocations.isValid(tokenOf(id, userId)), !isEnded, what);
      if (!isEnded) continue;
      const late = await storage.grants.redeem({ kind: 'refresh_token', id }, {});
      t.deepEqual(late, { outcome: 'gone' }, what);
      t.false(await storage.revocations.isValid(tokenOf(id, userId)), what);
    }
    t.true(endedCount > 0);
  },
);

onEachDatabase(
  'when processes end users at once, each end has its own number, and no reader sees a gap',
  async (t, { client }, address) => {
    const { storage } = await withCodes(t, address, 0);
    const first = await storage.revocations.latestSequence();
    const ofNodes = NODES.map((by) => Array.from({ length: 25 }, (_, index) => `${by} ${index}`));
    const host = connect(t, client, address);
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
    await cluster.atOnce(
      address,
      ofNodes.map((users) => ({ do: 'end', users })),
    );
    done.abort();
    await watching;

    const numbers = [...(await endsOf(t, client, address)).values()];
    t.is(new Set(numbers).size, 100);
    t.true(numbers.every((number) => number > first));
    for (const { sequence, ends, greatest } of seen) {
      t.is(ends, numbers.filter((number) => number <= sequence).length);
      t.is(greatest, ends === 0 ? 0 : sequence);
    }
    // On SQLite the ends may be done before the second read.
    t.log(`${new Set(seen.map(({ ends }) => ends)).size} states seen`);
  },
);

onEachDatabase(
  'when processes begin the same requests at once, one begins each, and one takes it over',
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

onEachEmptyDatabase(
  'when processes migrate at once, each migration is applied once',
  async (t, _database, address) => {
    const pending = await cluster.atOnce(
      address,
      NODES.map(() => ({ do: 'migrate' })),
    );
    t.deepEqual(pending, [[], [], [], []]);
  },
);

onEachEmptyDatabase('a process killed while it migrates leaves no lock', async (t, { client }, address) => {
  const child = start(
    'migrating-process.ts',
    client,
    address,
    'create table if not exists gatehouse_grants ',
  );
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');

  const { storage } = await withCodes(t, address, 1);
  t.deepEqual(await storage.pendingMigrations(), []);
  t.is((await storage.grants.findCredential('code', 'code 0'))?.grant.id, 'code 0');
});
