import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { Browser } from '../../test/harness/browser.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { authorize, startPlatform } from '../../test/harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../../test/harness/platform.ts';
import { asClient } from '../../test/harness/tokens.ts';
import type { GaleraCluster } from './galera-cluster.ts';
import type { Finding } from './report.ts';
import { startProgram, temporaryFolder } from './servers.ts';

const HAPROXY = '/usr/sbin/haproxy';

export function whatIsMissingForBalancing(): string | undefined {
  return existsSync(HAPROXY) ? undefined : 'apt-get install haproxy';
}

/** Nodes of one authorization server on a cluster: one on each member, and one behind a load balancer over all of them. */
export interface Nodes extends AsyncDisposable {
  readonly platforms: readonly Platform[];
  readonly app: RegisteredApp;
}

export async function startNodes(cluster: GaleraCluster): Promise<Nodes> {
  const addresses = await cluster.createDatabase('served');
  const balancer = await startBalancer(cluster);
  const platforms: Platform[] = [];
  for (const address of [...addresses, `mysql://root@127.0.0.1:${balancer.port}/served`]) {
    const [first] = platforms;
    const shared = first && { issuer: first.origin, users: first.users };
    platforms.push(
      await startPlatform({ storage: knexStorage(address), tokens: { revocationLag: 1 }, ...shared }),
    );
  }
  return {
    platforms,
    app: await platforms[0]!.registerApp({ firstParty: true }),
    async [Symbol.asyncDispose]() {
      await Promise.all(platforms.map(async (platform) => platform[Symbol.asyncDispose]()));
      await balancer[Symbol.asyncDispose]();
    },
  };
}

/** HAProxy before all members of a cluster, as `docs/review/databases.md` shows it. */
export async function startBalancer(
  { members }: GaleraCluster,
  check = 'check inter 500ms on-marked-down shutdown-sessions',
): Promise<{ readonly port: number } & AsyncDisposable> {
  const folder = temporaryFolder();
  const port = await freePort();
  const configuration = join(folder.path, 'haproxy.cfg');
  const servers = members.map((member, index) => `  server member${index} 127.0.0.1:${member.port} ${check}`);
  writeFileSync(
    configuration,
    `
defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
listen galera
  bind 127.0.0.1:${port}
  balance roundrobin
${servers.join('\n')}
`,
  );
  const haproxy = startProgram([HAPROXY, '-db', '-f', configuration], {
    user: 'haproxy',
    log: join(folder.path, 'haproxy.log'),
  });
  return {
    port,
    async [Symbol.asyncDispose]() {
      await haproxy.end('SIGKILL');
      folder[Symbol.dispose]();
    },
  };
}

/** The request that exchanges a code of one of the nodes. */
async function codeRequest({ platforms, app }: Nodes, turn: number): Promise<Record<string, string>> {
  const [issuer] = platforms;
  const { origin } = platforms[turn % platforms.length]!;
  // As a load balancer before the nodes does: all of them are at the issuer's address.
  const reach = (url: URL): URL =>
    url.origin === issuer!.origin ? new URL(url.pathname + url.search, origin) : url;
  const parameters = await authorize(issuer!, app, { browser: new Browser(reach) });
  const code = parameters.get('code');
  if (code === null) throw new Error(`no code: ${String(parameters)}`);
  return { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri, code };
}

function refreshRequest(app: RegisteredApp, token: string): Record<string, string> {
  return { grant_type: 'refresh_token', ...asClient(app), refresh_token: token };
}

/** 100 requests with the same code, and then with the same refresh token, on all nodes at once. */
export async function redeemAtOnce(nodes: Nodes, rounds: number): Promise<Finding> {
  const { platforms, app } = nodes;
  const broken: string[] = [];
  let unavailable = 0;
  let exchanges = 0;

  async function race(request: Record<string, string>): Promise<readonly TokenAnswer[]> {
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => platforms[index % platforms.length]!.token(request)),
    );
    exchanges += answers.length;
    unavailable += answers.filter(({ status }) => status === 503).length;
    return answers.filter(({ status }) => status !== 503);
  }

  for (let round = 0; round < rounds; round += 1) {
    const ofCode = await race(await codeRequest(nodes, round));
    const winners = ofCode.filter(({ status }) => status === 200);
    if (winners.length !== 1) broken.push(`${winners.length} winners with a code`);
    const refused = ofCode.filter(({ status, body }) => status === 400 && body.error === 'invalid_grant');
    if (winners.length + refused.length < ofCode.length) broken.push(`answers: ${statuses(ofCode)}`);

    // A code that was presented again has ended its grant, so the refresh token is of another one.
    const fresh = await platforms[0]!.token(await codeRequest(nodes, 0));
    const refreshed = await race(refreshRequest(app, fresh.body.refresh_token));
    const successors = new Set(refreshed.map(({ body }) => body.refresh_token));
    if (successors.size !== 1) broken.push(`${successors.size} successors: ${statuses(refreshed)}`);
  }
  const note = `${exchanges} requests, ${unavailable} answered 503`;
  return {
    what: '100 token requests at once on four nodes have one winner',
    count: rounds * 2,
    broken,
    note,
  };
}

function statuses(answers: readonly TokenAnswer[]): string {
  return [...new Set(answers.map(({ status, body }) => `${status} ${body.error ?? ''}`.trim()))].join(', ');
}

interface Family {
  living: string;
  readonly spent: string[];
}

/** A member is killed and joins again, and another one stops answering for a while, during refreshes and code exchanges. */
export async function loseMembers(cluster: GaleraCluster, nodes: Nodes): Promise<Finding> {
  const { platforms, app } = nodes;
  const broken: string[] = [];
  const counts = { ok: 0, unavailable: 0 };
  const pauses = { longest: 0, since: performance.now() };
  /** The longest time without an answer 200 since the last call. */
  function longestPause(): string {
    const { longest } = pauses;
    pauses.longest = 0;
    return seconds(longest);
  }
  const end = new AbortController();
  const at = (index: number): Platform => platforms[index % platforms.length]!;

  /** The answers of two nodes to the same request at the same time. */
  async function ask(request: Record<string, string>, turn: number): Promise<readonly TokenAnswer[]> {
    const answers = await Promise.all([at(turn).token(request), at(turn + 1).token(request)]);
    for (const { status } of answers) {
      if (status === 200) {
        counts.ok += 1;
        pauses.longest = Math.max(pauses.longest, performance.now() - pauses.since);
        pauses.since = performance.now();
      } else if (status === 503) counts.unavailable += 1;
    }
    return answers.filter(({ status }) => status !== 503);
  }

  async function rotate(family: Family, turn: number): Promise<void> {
    const answers = await ask(refreshRequest(app, family.living), turn);
    const successors = new Set(answers.map(({ body }) => body.refresh_token));
    if (answers.some(({ status }) => status !== 200)) broken.push(`a refresh: ${statuses(answers)}`);
    else if (successors.size > 1) broken.push('a refresh token has two successors');
    if (answers.length === 0) await delay(100);
    else if (answers[0]!.status === 200) {
      family.spent.push(family.living);
      family.living = answers[0]!.body.refresh_token;
    }
  }

  const families: Family[] = [];
  async function start(turn: number): Promise<void> {
    let request: Record<string, string>;
    try {
      request = await codeRequest(nodes, turn);
    } catch (error) {
      // The pages of a node without its member answer 503, and the user tries again.
      if (!String(error).includes('temporarily_unavailable'))
        broken.push(`an authorization: ${String(error)}`);
      return delay(100);
    }
    // On another node than the one that has issued the code.
    const { status, body } = await at(turn + 1).token(request);
    if (status === 200) families.push({ living: body.refresh_token, spent: [] });
    else if (status !== 503) broken.push(`a code: ${status} ${body.error}`);
    return undefined;
  }

  for (let turn = 0; families.length < FAMILIES; turn += 1) await start(turn);
  const running = [
    ...families.map(async (family, index) => {
      for (let turn = index; !end.signal.aborted; turn += 1) await rotate(family, turn);
    }),
    ...[0, 1].map(async (index) => {
      for (let turn = index; !end.signal.aborted; turn += 1) await start(turn);
    }),
  ];

  const [, killed, suspended] = cluster.members;
  await delay(3000);
  longestPause();
  await killed!.kill();
  await delay(6000);
  if ((await at(1).auth.ready()).ready) broken.push('a node is ready without its member');
  for (const other of [0, 2, 3]) {
    if (!(await isReadyIn(at(other), 15_000))) broken.push(`node ${other} is not ready, but its member runs`);
  }
  const rejoiningAt = performance.now();
  await killed!.rejoin();
  const rejoined = performance.now() - rejoiningAt;
  await delay(3000);
  const afterKill = longestPause();
  suspended!.suspend();
  await delay(8000);
  suspended!.resume();
  await delay(1000);
  for (const platform of platforms) {
    // A read that waits for the other members gives up after `repl.causal_read_timeout`, 30 seconds.
    if (!(await isReadyIn(platform, 60_000))) broken.push('a node is not ready afterwards');
  }
  await delay(2000);
  end.abort();
  await Promise.all(running);
  const afterHang = longestPause();

  for (const [index, family] of families.entries()) {
    const { living } = family;
    await rotate(family, index);
    if (family.living === living) broken.push('a refresh token that was answered 200 is lost');
    // Of two exchanges ago. Within its grace it leads to the current one, whatever member has them.
    const reused = family.spent.at(-2);
    if (reused === undefined) continue;
    const { status, body } = await at(index).token(refreshRequest(app, reused));
    if (status !== 200 || body.refresh_token !== family.living)
      broken.push(`a spent refresh token does not lead to the current one: ${status} ${body.error}`);
  }
  return {
    what: 'one member is killed and rejoins, another hangs for 8 s',
    count: counts.ok + counts.unavailable,
    broken,
    note: [
      `${counts.ok} answered 200, ${counts.unavailable} answered 503`,
      `longest time without a 200: ${afterKill} after the kill, ${afterHang} after the hang`,
      `rejoined in ${seconds(rejoined)}`,
      `${families.length} families`,
    ].join('; '),
  };
}

const FAMILIES = 12;

/** @param longest - in milliseconds */
async function isReadyIn({ auth }: Platform, longest: number): Promise<boolean> {
  const deadline = performance.now() + longest;
  while (!(await auth.ready()).ready) {
    if (performance.now() > deadline) return false;
    await delay(100);
  }
  return true;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
