/**
 * A Laravel app moves in while its clients call it and refresh: 1,000 apps, 10,000 users and 100,000 tokens in all states, in the tables
 * of Passport 8, 11 and 13 on each database. The clients of the app are imported, two nodes with `laravelPassport()` start and are
 * killed in between, and then the old server is left. Checked: no call is interrupted that the old server would have answered; each token
 * of each state gets the answer of the old server; nobody is asked for a consent again; each refresh token leads to one family.
 *
 *     npm run trial -- passport-move.ts
 *
 * `--version 8`, `--database SQLite`, `--tokens 10000` and `--samples 10`, the tokens of each state that are tried, shorten it. Needs
 * PostgreSQL and MariaDB on this machine; those that are missing are left out.
 */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';

import { createOwnDatabase } from '../../test/adapters/own-database.ts';
import { findServer, MARIADB, POSTGRESQL } from '../../test/adapters/servers.ts';
import type { ServerKind } from '../../test/adapters/servers.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { connectLaravel } from '../../test/laravel-passport/laravel.ts';
import type { PassportVersion } from '../../test/laravel-passport/laravel.ts';
import { Nodes, startNode } from './nodes.ts';
import { consents, families, revoke, tryStates } from './passport-checks.ts';
import { OldServer, PassportClients } from './passport-clients.ts';
import { makeDatabase, withTokens } from './passport-database.ts';
import { report } from './report.ts';
import type { Finding } from './report.ts';
import { temporaryFolder } from './servers.ts';

const { values } = parseArgs({
  options: {
    version: { type: 'string' },
    database: { type: 'string' },
    apps: { type: 'string', default: '1000' },
    users: { type: 'string', default: '10000' },
    tokens: { type: 'string', default: '100000' },
    samples: { type: 'string', default: '50' },
    workers: { type: 'string', default: '12' },
  },
});
const most = Number(values.samples);
const scale = { apps: Number(values.apps), users: Number(values.users), tokens: Number(values.tokens), most };

/** The databases of a move, one for the Laravel app and one for the nodes. */
interface Place extends AsyncDisposable {
  readonly name: 'MariaDB' | 'PostgreSQL' | 'SQLite';
  readonly client: Parameters<typeof connectLaravel>[0];
  readonly laravel: string;
  readonly own: string;
}

function onSqlite(): Place {
  const folder = temporaryFolder();
  return {
    name: 'SQLite',
    client: 'better-sqlite3',
    laravel: `sqlite:${folder.path}/laravel.db`,
    own: `sqlite:${folder.path}/gatehouse.db`,
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}

async function onServer(kind: ServerKind): Promise<Place | undefined> {
  const server = findServer(kind);
  if ('remedy' in server) {
    console.warn(`SKIPPED, ${kind.name}: ${server.remedy}`);
    return undefined;
  }
  const [laravel, own] = [
    await createOwnDatabase(kind, server.address),
    await createOwnDatabase(kind, server.address),
  ];
  return {
    name: kind.name,
    client: kind.client,
    laravel: laravel.address,
    own: own.address,
    async [Symbol.asyncDispose]() {
      await laravel.drop();
      await own.drop();
    },
  };
}

/** Runs the command in a process of its own. */
async function gatehouse(
  words: readonly string[],
  { laravel, own }: Place,
): Promise<Record<string, unknown>> {
  const main = new URL('../../lib/cli/main.ts', import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=gatehouse:source', main, ...words, '--json'],
    { env: { ...process.env, DATABASE_URL: own, PASSPORT_DATABASE_URL: laravel }, maxBuffer: 2 ** 28 },
  );
  return JSON.parse(stdout) as Record<string, unknown>;
}

const IMPORT = ['client', 'import', '--from', 'laravel-passport'];

async function move(version: PassportVersion, place: Place): Promise<readonly Finding[]> {
  const title = `Passport ${version}, ${place.name}`;
  const database = connectLaravel(place.client, place.laravel);
  if (place.client === 'better-sqlite3') await database.raw('pragma journal_mode = wal');
  const made = await makeDatabase(database, version, scale);
  const live = made.samples.get('live')!;
  await gatehouse(['migrate'], place);
  const { tokens } = await gatehouse(IMPORT, place);
  const announced = JSON.stringify((tokens as { accepted: unknown }).accepted);

  const issuer = `http://127.0.0.1:${await freePort()}`;
  const given = [place.laravel, `${scale.users}`];
  await using nodes = new Nodes(issuer, async () =>
    startNode(place.own, issuer, { program: 'passport-node.ts', given }),
  );
  const clients = new PassportClients(nodes, new OldServer(database));
  const ending = new AbortController();
  // The others are tried one by one.
  const running = clients.run(live.slice(3 * most), Number(values.workers), ending.signal);
  const startedAt = performance.now();
  await gatehouse([...IMPORT, '--yes'], place);
  await nodes.begin();
  clients.phase = 'both';
  await delay(5000);
  await restart(nodes, 0);
  clients.phase = 'new';
  await delay(3000);
  await restart(nodes, 1);
  await delay(3000);
  ending.abort();
  await running;
  const { counts, exchanged } = clients;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const own = connectLaravel(place.client, place.own);
  const findings = [
    {
      what: `${title}: calls and refreshes of clients`,
      count: counts.calls + counts.callsAtOld + counts.refreshesAtOld + counts.exchanged + counts.refreshes,
      broken: clients.broken,
      note: `${seconds} s; ${counts.refreshesAtOld} refreshes at the old server, ${counts.exchanged} exchanges, ${counts.refreshes} refreshes after that, ${counts.repeated} repeated after a kill -9; announced ${announced}`,
    },
    await revoke(nodes, database, { title, samples: live.slice(most, 2 * most) }),
    ...(await tryStates(nodes, made, { exchanged, most, title })),
    await consents(nodes, {
      title,
      samples: live.slice(2 * most, 2.5 * most),
      newUser: withTokens(scale.users) + 1,
    }),
    await families(own, database, { exchanged, title }),
  ];
  const status = await gatehouse(['laravel-passport', 'status'], place);
  console.log(
    `${title}: ${made.rows} access tokens; status: ${JSON.stringify({ ...status, tokens: undefined })}`,
  );
  await own.destroy();
  await database.destroy();
  return findings;
}

async function restart(nodes: Nodes, node: number): Promise<void> {
  nodes.kill(node);
  await nodes.restart(node);
}

const findings: Finding[] = [];
for (const version of ['8', '11', '13'] as const) {
  if (values.version !== undefined && values.version !== version) continue;
  for (const open of [
    async () => onSqlite(),
    async () => onServer(POSTGRESQL),
    async () => onServer(MARIADB),
  ]) {
    await using place = await open();
    if (!place || (values.database !== undefined && values.database !== place.name)) continue;
    findings.push(...(await move(version, place)));
  }
}
process.exitCode = report(findings);
