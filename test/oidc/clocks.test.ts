import type { Knex } from 'knex';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { mariadb, onEachDatabase, postgresql } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { openHost, SOLE } from '../adapters/host-knex.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { startTwo } from '../harness/cluster.ts';
import { endWith } from '../harness/serve.ts';

// In seconds, the difference between the clocks of two nodes.
const DIFFERENCE = 90;

// An SQLite file has no other clock than that of its only machine.
const SERVERS = [postgresql, mariadb];

interface TwoNodes {
  readonly here: Platform;
  readonly there: Platform;
  readonly app: RegisteredApp;
  readonly database: Knex;
}

async function twoNodes(t: ExecutionContext, { client }: TestDatabase, address: string): Promise<TwoNodes> {
  const database = openHost(t, client, address, SOLE);
  const { here, there } = await startTwo([knexStorage(address), knexStorage(address)], async (node) =>
    endWith(t, await startPlatform(node)),
  );
  return { here, there, app: await here.registerApp({ firstParty: true }), database };
}

/** Does something at a node whose clock differs from that of the database, which is this machine's. */
async function at<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  passTime(seconds);
  try {
    return await work();
  } finally {
    passTime(-seconds);
  }
}

for (const offset of [DIFFERENCE, -DIFFERENCE]) {
  const clock = `a clock ${DIFFERENCE} s ${offset > 0 ? 'ahead' : 'behind'}`;

  onEachDatabase(
    `a refresh that is repeated at a node with ${clock} gets the same tokens, until the grace ends`,
    async (t, kind, address) => {
      const { here, there, app, database } = await twoNodes(t, kind, address);
      const refreshHere = async (token: string) => exchangeRefreshToken(here, app, token);
      const refreshThere = async (token: string) =>
        at(offset, async () => exchangeRefreshToken(there, app, token));
      const first = (await runCodeFlow(here, app)).body.refresh_token;
      const second = (await refreshHere(first)).body.refresh_token;
      t.is((await refreshThere(first)).body.refresh_token, second);
      const third = (await refreshThere(second)).body.refresh_token;
      t.is((await refreshHere(second)).body.refresh_token, third);
      const last = (await refreshThere(third)).body.refresh_token;
      await database('gatehouse_credentials').whereNotNull('consumed_at').decrement('consumed_at', 60_000);
      t.is((await refreshThere(third)).body.error, 'invalid_grant');
      t.is((await refreshHere(last)).body.error, 'invalid_grant', 'reuse has revoked the family');
    },
    SERVERS,
  );

  onEachDatabase(
    `a code of a node with ${clock} is valid for a minute, on both nodes, also when the other one prunes`,
    async (t, kind, address) => {
      const { here, there, app, database } = await twoNodes(t, kind, address);
      const code = async (): Promise<string> =>
        (await at(offset, async () => authorize(here, app))).get('code')!;
      t.is((await exchangeCode(there, app, await code())).status, 200);
      const own = await code();
      t.is((await at(offset, async () => exchangeCode(here, app, own))).status, 200);

      // The node that prunes is fast, or the one that issued the code is slow.
      const [issuing, pruning] = offset > 0 ? [0, offset] : [offset, 0];
      const kept = (await at(issuing, async () => authorize(here, app))).get('code')!;
      await at(pruning, async () => there.auth.prune());
      t.is((await exchangeCode(here, app, kept)).status, 200);

      const [late, later] = [await code(), await code()];
      await database('gatehouse_credentials').decrement('expires_at', 60);
      t.is((await exchangeCode(there, app, late)).body.error, 'invalid_grant');
      t.is((await at(offset, async () => exchangeCode(here, app, later))).body.error, 'invalid_grant');
    },
    SERVERS,
  );
}

function linesOf({ logger }: Platform): unknown[] {
  return logger.lines.filter(({ fields }) => 'warning' in fields).map(({ level, fields }) => [level, fields]);
}

onEachDatabase(
  'a node whose clock differs says so at start, in the log and in /readyz, and when it does no more',
  async (t, _database, address) => {
    const WARNED = ['warn', { seconds_ahead: DIFFERENCE, warning: 'clock_differs' }];

    passTime(DIFFERENCE);
    await using node = await startPlatform(
      { storage: knexStorage(address) },
      { app: ({ auth }) => auth.callback() },
    );
    t.deepEqual(linesOf(node), [WARNED]);
    const readiness = await send(node.url('/readyz'));
    t.is(readiness.status, 200);
    t.deepEqual(readiness.body, { status: 'warn', notes: ['clock_differs'] });
    t.deepEqual(await node.auth.ready(), { ready: true, warnings: ['clock_differs'] });
    t.is(linesOf(node).length, 1);

    passTime(-DIFFERENCE);
    while ('warnings' in (await node.auth.ready())) await new Promise(setImmediate);
    t.deepEqual((await send(node.url('/readyz'))).body, { status: 'pass' });
    t.deepEqual(linesOf(node), [WARNED, ['info', { warning: 'clock_differs' }]]);
  },
  SERVERS,
);
