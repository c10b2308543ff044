/**
 * Four nodes on PostgreSQL with two standbys: the primary is killed in the middle of code exchanges, refreshes and revocations,
 * and a standby is promoted, once with HAProxy between nodes and servers, and once with PgBouncer before it. Then the
 * same with asynchronous replication, to see what that loses; its losses are no failure of the trial.
 *
 *     npm run trial -- postgresql-failover.ts [haproxy | pgbouncer | asynchronous]
 */
import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { Browser } from '../../test/harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../../test/harness/platform.ts';
import { send } from '../../test/harness/requests.ts';
import { startNode } from './nodes.ts';
import type { Node } from './nodes.ts';
import { startPostgresqlCluster, whatIsMissing } from './postgresql-cluster.ts';
import type { PostgresqlCluster } from './postgresql-cluster.ts';
import { readEnds } from './read-ends.ts';
import { report } from './report.ts';
import type { Finding } from './report.ts';
import { TokenLoad } from './token-load.ts';

const ISSUER = 'http://127.0.0.1:1';
const NODES = 4;
const WORKERS = 24;

// In milliseconds.
const BEFORE = 4000;
const DEAD = 3000;
const AFTER = 8000;
const BEHIND = 500;
/** What a probe may take to notice: it is answered within a second and remembered for another one. */
const NOTICE = 2000;
/** "Within seconds" of the promotion. */
const BACK = 10_000;

const missing = whatIsMissing();
if (missing !== undefined) {
  console.error(`this trial needs a PostgreSQL cluster: ${missing}`);
  process.exit(2);
}

const [only] = process.argv.slice(2);
for (const through of ['haproxy', 'pgbouncer'] as const) {
  if (only !== undefined && only !== through) continue;
  console.log(`\nthrough ${through}:`);
  process.exitCode = Math.max(report(await failOver(through)), Number(process.exitCode ?? 0));
}
if (only === undefined || only === 'asynchronous') {
  console.log('\nasynchronous, with standbys that are half a second behind:');
  report(await failOver('haproxy', { synchronous: false }));
}

async function failOver(
  through: 'haproxy' | 'pgbouncer',
  { synchronous = true }: { synchronous?: boolean } = {},
): Promise<Finding[]> {
  await using cluster = await startPostgresqlCluster({ synchronous });
  await using nodes = await startNodes(cluster[through]);
  const load = await prepare(cluster, nodes.origins);
  const ends = await readEnds(cluster[through]);

  const end = new AbortController();
  const probes = probe(nodes.origins, end.signal);
  const working = Promise.all(Array.from({ length: WORKERS }, async () => load.run(end.signal)));
  await delay(BEFORE);
  if (!synchronous) {
    cluster.suspendReplication();
    await delay(BEHIND);
  }
  const killingAt = performance.now();
  await cluster.killPrimary();
  const killedAt = performance.now();
  await delay(DEAD);
  const promotingAt = performance.now();
  await cluster.promote();
  const promotedAt = performance.now();
  await delay(AFTER);
  end.abort();
  await working;
  const readiness = await probes;
  await load.check();
  const endsRead = await ends.check(load.revokedGrants);

  const unexpected = [...load.statuses.keys()].filter((code) => ![200, 400, 503].includes(code));
  const backAt = load.successes.find((at) => at > promotingAt) ?? Infinity;
  const counts = [...load.statuses]
    .toSorted(([one], [other]) => one - other)
    .map(([code, count]) => `${count} × ${code}`);
  const { exchanges, lasting, refreshes, revocations } = load;
  return [
    {
      what: 'codes, each with one winner',
      ...exchanges,
      note: `${load.codesWithoutAnswer} spent without an answer`,
    },
    { what: 'refresh tokens, each with one successor', ...refreshes },
    { what: 'revocations that last', ...revocations },
    endsRead,
    { what: 'answered with 200, and there after the failover', ...lasting },
    {
      what: 'no status but 200, 400 and 503',
      count: load.statuses.values().reduce((sum, count) => sum + count, 0),
      broken: unexpected.map((code) => `${code}`),
      note: counts.join(', '),
    },
    {
      what: 'tokens again after the promotion',
      count: 1,
      broken: backAt - promotedAt < BACK ? [] : ['not within 10 s'],
      note: `after ${seconds(backAt - promotingAt)}; the promotion took ${seconds(promotedAt - promotingAt)}`,
    },
    {
      what: '/readyz tells the truth',
      ...judge(readiness, { killingAt, killedAt, promotingAt, promotedAt }),
    },
  ];
}

interface Nodes extends AsyncDisposable {
  readonly origins: readonly string[];
}

async function startNodes(database: string): Promise<Nodes> {
  const storage = knexStorage(database);
  await storage.migrate();
  await storage.close();
  const nodes: Node[] = [];
  // The issuer is the same for all; requests are sent to the nodes themselves.
  while (nodes.length < NODES) nodes.push(await startNode(database, ISSUER));
  return {
    origins: nodes.map(({ origin }) => origin),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(async (node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** Registers an app and signs a user in. */
async function prepare({ haproxy }: PostgresqlCluster, nodes: readonly string[]): Promise<TokenLoad> {
  await using platform = await startPlatform({ storage: knexStorage(haproxy), issuer: ISSUER });
  const app = await platform.registerApp({ firstParty: true });
  let turn = 0;
  const browser = new Browser((url) => new URL(url.pathname + url.search, nodes[(turn += 1) % nodes.length]));
  const url = authorizeUrl({ ...platform, url: (path) => new URL(ISSUER + path) }, app);
  await signIn(browser, await browser.open(url));
  return new TokenLoad({
    nodes,
    app,
    async authorize() {
      const page = await browser.get(url).catch(() => undefined);
      return page?.location?.searchParams.get('code') ?? undefined;
    },
  });
}

interface Probe {
  readonly sentAt: number;
  readonly node: number;
  readonly status: number;
}

async function probe(nodes: readonly string[], signal: AbortSignal): Promise<Probe[]> {
  const probes: Probe[] = [];
  const each = nodes.map(async (origin, node) => {
    for (; !signal.aborted; await delay(50)) {
      const sentAt = performance.now();
      // A connection that the node has just closed, because it was idle, says nothing.
      const answer = await send(`${origin}/readyz`).catch(() => undefined);
      if (answer) probes.push({ sentAt, node, status: answer.status });
    }
  });
  await Promise.all(each);
  return probes;
}

function judge(
  probes: readonly Probe[],
  {
    killingAt,
    killedAt,
    promotingAt,
    promotedAt,
  }: { killingAt: number; killedAt: number; promotingAt: number; promotedAt: number },
): Omit<Finding, 'what'> {
  const broken: string[] = [];
  const backAt = Array.from({ length: NODES }, (_, node) => {
    const own = probes.filter((one) => one.node === node);
    // Not one that the end of the server has met.
    const early = own.filter(({ sentAt, status }) => sentAt < killingAt - NOTICE && status !== 200);
    for (const { sentAt } of early)
      broken.push(`503, ${seconds(killingAt - sentAt)} before the end of the primary`);
    const dead = own.filter(({ sentAt }) => sentAt > killedAt + NOTICE && sentAt < promotingAt);
    if (dead.some(({ status }) => status === 200)) broken.push('200 without a primary');
    const back = own.find(({ sentAt, status }) => sentAt > promotingAt && status === 200)?.sentAt ?? Infinity;
    if (back > promotedAt + BACK) broken.push('503 ten seconds after the promotion');
    return back;
  });
  const slowest = seconds(Math.max(...backAt) - promotingAt);
  return { count: probes.length, broken, note: `ready after ${slowest}` };
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
