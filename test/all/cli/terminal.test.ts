import { execFileSync } from 'node:child_process';

import test from '../../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import type { Administration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { connectHost } from '../../adapters/host-knex.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';
import { createTables, connectLaravel, row12 } from '../../laravel-passport/laravel.ts';
import { gatehouse, migrated, onTerminal, screen } from '../../cli/gatehouse.ts';

// `script` of util-linux creates the pseudo terminal; on other systems it has other options.
const onTerminalTest = hasScript() ? test : test.skip;

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version']).includes('util-linux');
  } catch {
    return false;
  }
}

/** A database with clients for themselves, of these names. */
async function withClients(
  ...names: readonly string[]
): Promise<AsyncDisposable & { readonly address: string; readonly clients: Administration['clients'] }> {
  const address = await migrated();
  const administration = createAdministration({ storage: knexStorage(address) });
  for (const name of names) await administration.clients.create({ name, grantType: 'client_credentials' });
  return {
    address,
    clients: administration.clients,
    [Symbol.asyncDispose]: () => administration.close(),
  };
}

test('a table fits the terminal: names are truncated, ids are not', async (t) => {
  const name = 'Monthly reports of the schools of the eastern districts';
  await using given = await withClients(name);
  const [client] = await given.clients.list();
  const list = async (columns: number): Promise<string> =>
    (await gatehouse(`client list --database ${given.address}`, {}, { columns })).output;
  t.is(
    await list(80),
    `Client ID                             Name           Grant type          Status
${client!.id}  Monthly repo…  client_credentials  enabled
`,
  );
  t.is(
    await list(50),
    `Client ID   ${client!.id}\nName        ${name}\nGrant type  client_credentials\nStatus      enabled\n`,
  );
});

test('columns are aligned after names whose characters take two cells or none', async (t) => {
  const names = ['学校の月次報告', '한글', '\u{17000} Tangut', 'e\u{301}cole 👩', 'Reports'];
  await using given = await withClients(...names);
  const { output } = await gatehouse(`client list --database ${given.address}`);
  t.deepEqual(
    names.map((name) => output.split(name)[1]!.search(/\S/)),
    [2, 12, 7, 8, 9],
  );
});

onTerminalTest('prune shows its progress, and Ctrl-C ends it after the current batch', async (t) => {
  const address = await migrated();
  const database = connectHost('better-sqlite3', address);
  // Enough for a second of work.
  await database.raw(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
     insert into gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence, last_used_at)
     select 'row' || i, 'row' || i, 'ann', '{}', 1000, 0, 0 from n`,
  );
  const run = onTerminal(`prune --database ${address}`);
  await run.shows('Removing expired rows');
  run.type('\u{3}');
  const { code, output } = await run.outcome;
  t.is(code, 130);
  t.regex(output, /\rRemoving expired rows {2}[\d,]+ {2}[\d,]+\/s/);
  const [, removed] = /^(?:\^C)?Interrupted: removed ([\d,]+) expired rows, there may be more\.\n$/.exec(
    screen(output),
  ) ?? [undefined, screen(output)];
  const [row] = await database('gatehouse_sessions').count({ count: '*' });
  await database.destroy();
  t.true(Number(row!['count']) > 0);
  t.is(Number(removed?.replaceAll(',', '')), 200_000 - Number(row!['count']));
});

test('an import shows its progress', async (t) => {
  const source = `sqlite:${temporaryFile('laravel.sqlite')}`;
  const laravel = connectLaravel('better-sqlite3', source);
  await createTables(laravel, '11');
  await laravel('oauth_clients').insert(
    Array.from({ length: 20 }, (_, id) => row12({ id, name: `Client ${id}`, secret: `plain ${id}` })),
  );
  await laravel.destroy();
  const { code, errors, output } = await gatehouse(
    `client import --from laravel-passport --yes --source ${source} --database ${await migrated()}`,
    {},
    { columns: 80 },
  );
  t.is(code, 0);
  t.regex(errors, /^\rImporting {2}━*─+ +\d+ % {2}\d+ of 20/);
  t.is(screen(errors), '');
  t.regex(output, /\n20 imported, 0 already present, 0 skipped, 0 refused\.\n$/);
});

test('a question before a deletion is answered with yes, or nothing is changed', async (t) => {
  await using given = await withClients('Nightly');
  const [client] = await given.clients.list();
  const words = `client delete ${client!.id} --database ${given.address}`;
  for (const [typed, expected] of [
    ['n\r', 1],
    ['\r', 1],
    // Ctrl-D and Ctrl-C.
    ['\u{4}', 1],
    ['\u{3}', 130],
  ] as const) {
    const { code, errors, output } = await gatehouse(words, {}, { columns: 80, typed });
    t.deepEqual([code, output], [expected, ''], JSON.stringify(typed));
    t.regex(errors, /\[y\/N\] [^]*\n?Nothing was changed\.\n$/);
    t.truthy(await given.clients.find(client!.id));
  }
});

onTerminalTest('on a terminal it is asked, and done with the answer y', async (t) => {
  await using given = await withClients('Nightly');
  const [client] = await given.clients.list();
  const run = onTerminal(`client delete ${client!.id} --database ${given.address}`);
  await run.shows('[y/N] ');
  run.type('y\r');
  const { code, output } = await run.outcome;
  t.is(code, 0);
  t.regex(screen(output), /\nDeleted "Nightly" \([\da-f-]+\)\.\n$/);
  t.is(await given.clients.find(client!.id), undefined);
});
