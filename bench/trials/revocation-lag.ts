/**
 * How long after a revocation on one node the others refuse the token: four nodes on PostgreSQL, at `TEST_POSTGRES_URL` or on
 * this machine, and clients' tokens that all of them have cached.
 *
 *     npm run trial -- revocation-lag.ts
 */
import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { createOwnDatabase } from '../../test/adapters/own-database.ts';
import { findServer, POSTGRESQL } from '../../test/adapters/servers.ts';
import { startPlatform } from '../../test/harness/platform.ts';
import { postJson, send } from '../../test/harness/requests.ts';
import { startNode } from './nodes.ts';
import { report } from './report.ts';

const NODES = 4;
const ROUNDS = 300;

// In milliseconds, for 99 of 100 revocations on every other node.
const WITHIN = 100;

const server = findServer(POSTGRESQL);
if ('remedy' in server) {
  console.error(`this trial needs PostgreSQL: ${server.remedy}`);
  process.exit(2);
}
const database = await createOwnDatabase(POSTGRESQL, server.address);
const issuer = 'http://127.0.0.1:1';
const platform = await startPlatform({ storage: knexStorage(database.address), issuer });
const nodes = await Promise.all(
  Array.from({ length: NODES }, async () => startNode(database.address, issuer)),
);
const { client, secret } = await platform.registerService();
const credentials = { client_id: client.id, client_secret: secret };
// The nodes connect in the background.
await delay(1000);

async function statusAt(origin: string, token: string): Promise<number> {
  return (await send(`${origin}/api/v1/identity`, { headers: { authorization: `Bearer ${token}` } })).status;
}

/** Revokes a token at one node; returns how long each of the others still accepted it, in milliseconds. */
async function revoke(first: string, others: readonly string[]): Promise<number[]> {
  const fields = { grant_type: 'client_credentials', ...credentials };
  const token = String((await postJson(`${first}/oauth/token`, fields)).body?.['access_token']);
  for (const origin of [first, ...others]) {
    if ((await statusAt(origin, token)) !== 200) throw new Error('a token that was just issued is refused');
  }
  await postJson(`${first}/oauth/revoke`, { ...credentials, token });
  const revokedAt = performance.now();
  return Promise.all(
    others.map(async (origin) => {
      for (;;) {
        const askedAt = performance.now();
        if ((await statusAt(origin, token)) === 401) return Math.max(askedAt - revokedAt, 0);
        await delay(1);
      }
    }),
  );
}

const lags: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const turned = nodes.map((_, index) => nodes[(round + index) % NODES]!.origin);
  lags.push(...(await revoke(turned[0]!, turned.slice(1))));
}
lags.sort((one, other) => one - other);
const quantile = (share: number): number => lags[Math.min(Math.floor(lags.length * share), lags.length - 1)]!;
const late = lags.filter((lag) => lag > WITHIN);
const isWithin = quantile(0.99) <= WITHIN;

await Promise.all(nodes.map(async (node) => node[Symbol.asyncDispose]()));
await platform[Symbol.asyncDispose]();
await database.drop();
process.exitCode = report([
  {
    what: `revocations refused by the other nodes within ${WITHIN} ms, 99 of 100`,
    count: lags.length,
    broken: isWithin ? [] : late.map((lag) => `${lag.toFixed(0)} ms`),
    note: [0.5, 0.99, 1].map((share) => `p${share * 100} ${quantile(share).toFixed(1)} ms`).join(', '),
  },
]);
