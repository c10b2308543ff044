import { execFileSync } from 'node:child_process';

import test from 'ava';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectHost } from '../adapters/host-knex.ts';
import { onTerminal, screen } from './gatehouse.ts';

// `script` of util-linux creates the pseudo terminal; on other systems it has other options.
const onTerminalTest = hasScript() ? test : test.skip;

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version']).includes('util-linux');
  } catch {
    return false;
  }
}

async function migrated(): Promise<string> {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  await storage.close();
  return address;
}

/** Expired rows, enough for more than a second of work. */
async function expire(address: string, count: number): Promise<void> {
  const database = connectHost('better-sqlite3', address);
  await database.raw(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
     insert into gatehouse_sessions (id, uid, payload, expires_at) select 'row' || i, 'row' || i, '{}', 1000 from n`,
  );
  await database.destroy();
}

async function countSessions(address: string): Promise<number> {
  const database = connectHost('better-sqlite3', address);
  const [row] = await database('gatehouse_sessions').count({ count: '*' });
  await database.destroy();
  return Number(row!['count']);
}

onTerminalTest('a table fits the terminal: names are truncated, ids are not', async (t) => {
  const address = await migrated();
  const administration = createAdministration({ storage: knexStorage(address) });
  const { client } = await administration.clients.create({
    name: 'Monthly reports of the schools of the eastern districts',
    grantType: 'client_credentials',
  });
  await administration.close();
  const wide = onTerminal(`client list --database ${address}`, { columns: 80 });
  const lines = screen((await wide.outcome).output).split('\n');
  t.deepEqual(lines.slice(0, 2), [
    'Client ID                             Name           Grant type          Status',
    `${client.id}  Monthly repo…  client_credentials  enabled`,
  ]);
  const narrow = onTerminal(`client list --database ${address}`, { columns: 50 });
  t.is(
    screen((await narrow.outcome).output),
    `Client ID   ${client.id}\nName        Monthly reports of the schools of the eastern districts\nGrant type  client_credentials\nStatus      enabled\n`,
  );
});

onTerminalTest('columns are aligned after names whose characters take two cells or none', async (t) => {
  const address = await migrated();
  const administration = createAdministration({ storage: knexStorage(address) });
  const names = ['学校の月次報告', '한글', '\u{17000} Tangut', 'e\u{301}cole 👩', 'Reports'];
  for (const name of names) {
    await administration.clients.create({ name, grantType: 'client_credentials' });
  }
  await administration.close();
  const { outcome } = onTerminal(`client list --database ${address}`, { columns: 90 });
  const lines = screen((await outcome).output).split('\n');
  const blanks = (name: string): number =>
    lines
      .find((line) => line.includes(name))!
      .split(name)[1]!
      .search(/\S/);
  t.deepEqual(
    names.map((name) => blanks(name)),
    [2, 12, 7, 8, 9],
  );
});

onTerminalTest('prune shows its progress, and removes the line at the end', async (t) => {
  const address = await migrated();
  await expire(address, 3000);
  const { code, output } = await onTerminal(`prune --database ${address}`).outcome;
  t.is(code, 0);
  t.regex(output, /\rRemoving expired rows {2}[\d,]+ {2}[\d,]+\/s/);
  t.is(screen(output), 'Removed 3,000 expired rows.\n');
});

onTerminalTest('Ctrl-C ends prune after the current batch', async (t) => {
  const address = await migrated();
  await expire(address, 300_000);
  const run = onTerminal(`prune --database ${address}`);
  await run.shows('Removing expired rows');
  run.type('\u{3}');
  const { code, output } = await run.outcome;
  t.is(code, 130);
  const removed = /Interrupted: removed ([\d,]+) expired rows, there may be more\./.exec(screen(output))?.[1];
  const left = await countSessions(address);
  t.true(left > 0);
  t.is(Number(removed?.replaceAll(',', '')), 300_000 - left);
});

onTerminalTest('an import shows its progress', async (t) => {
  const address = await migrated();
  const source = temporaryFile('laravel.sqlite');
  const laravel = connectHost('better-sqlite3', `sqlite:${source}`);
  await laravel.raw(
    'create table oauth_clients (id integer primary key, name text, secret text, redirect text, revoked int)',
  );
  await laravel.raw(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 700)
     insert into oauth_clients select i, 'Client ' || i, 'a plain secret of ' || i, '', 0 from n`,
  );
  await laravel.destroy();
  const { code, output } = await onTerminal(
    `client import --from passport --yes --source sqlite:${source} --database ${address}`,
  ).outcome;
  t.is(code, 0);
  t.regex(output, /\rImporting {2}━*─+ +\d+ % {2}\d+ of 700/);
  t.regex(screen(output), /\n700 imported, 0 already present, 0 skipped, 0 refused\.\n$/);
});

for (const [answer, code, said] of [
  ['y\r', 0, /\nDeleted "Nightly" \([\da-f-]+\)\.\n$/],
  ['n\r', 1, /\nNothing was changed\.\n$/],
  ['\r', 1, /\nNothing was changed\.\n$/],
  ['\u{4}', 1, /\n?Nothing was changed\.\n$/],
] as const) {
  onTerminalTest(`the answer ${JSON.stringify(answer)} to the question before a deletion`, async (t) => {
    const address = await migrated();
    const administration = createAdministration({ storage: knexStorage(address) });
    const { client } = await administration.clients.create({
      name: 'Nightly',
      grantType: 'client_credentials',
    });
    const run = onTerminal(`client delete ${client.id} --database ${address}`);
    await run.shows('[y/N] ');
    run.type(answer);
    const outcome = await run.outcome;
    t.is(outcome.code, code);
    t.regex(screen(outcome.output), said);
    t.is((await administration.clients.find(client.id)) === undefined, code === 0);
    await administration.close();
  });
}

onTerminalTest('Ctrl-C at a question changes nothing', async (t) => {
  const address = await migrated();
  const administration = createAdministration({ storage: knexStorage(address) });
  const { client } = await administration.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
  });
  const run = onTerminal(`client delete ${client.id} --database ${address}`);
  await run.shows('[y/N] ');
  run.type('\u{3}');
  const { code, output } = await run.outcome;
  t.is(code, 130);
  t.regex(screen(output), /\nNothing was changed\.\n$/);
  t.truthy(await administration.clients.find(client.id));
  await administration.close();
});
