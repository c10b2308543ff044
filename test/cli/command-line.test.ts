import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { promisify } from 'node:util';

import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectHost } from '../adapters/host-knex.ts';
import { gatehouse, gatehouseJson, gatehouseProcess } from './gatehouse.ts';

test('--help lists the commands, and each command has its own help', async (t) => {
  const all = await gatehouseProcess(['--help']);
  t.like(all, { code: 0, errors: '' });
  t.regex(all.output, /^Usage: gatehouse \[options\] \[command\]\n/);
  for (const name of ['migrate', 'client', 'keys', 'prune', 'doctor']) {
    t.regex(all.output, new RegExp(`^  ${name}  +\\S`, 'm'));
  }
  t.regex(
    all.output,
    /Exit codes: 0 done, 1 failed \(doctor: found an error\), 2 wrong arguments or settings, 130 interrupted\./,
  );

  const one = await gatehouse('client secrets add --help');
  t.like(one, { code: 0, errors: '' });
  t.regex(one.output, /^Usage: gatehouse client secrets add \[options\] <client-id>\n/);
  t.regex(one.output, /--database <url>/);
  t.regex(one.output, /^JSON: /m);
});

/** A file without tables, which is an empty database to SQLite. */
function emptyFile(): string {
  const file = temporaryFile();
  writeFileSync(file, '');
  return file;
}

for (const [words, said] of [
  [[], /^Usage: gatehouse \[options\] \[command\]/],
  [['mirgate'], /^error: unknown command 'mirgate'\n\(Did you mean migrate\?\)\n$/],
  [['constructor'], /^error: unknown command 'constructor'\n$/],
  [['client', 'craete'], /^error: unknown command 'craete'\n\(Did you mean create\?\)\n$/],
  [['migrate'], /^Give the database: --database URL, or the environment variable DATABASE_URL\.\n$/],
  [['migrate', 'now'], /^error: too many arguments for 'migrate'\. Expected 0 arguments but got 1: now\.\n$/],
  [['migrate', '--jsno'], /^error: unknown option '--jsno'\n\(Did you mean --json\?\)\n$/],
  [['client', 'show'], /^error: missing required argument 'client-id'\n$/],
  [['client', 'create'], /^error: required option '--name <name>' not specified\n$/],
  [['client', 'create', '--nam', 'Reports'], /^error: unknown option '--nam'\n\(Did you mean --name\?\)\n$/],
  [['client', 'list', '--database', 'sqlit:./x.db'], /^storage: there is no kind of database "sqlit:"; use /],
] as const) {
  test(`invalid arguments: gatehouse ${words.join(' ')}`, async (t) => {
    const { code, errors, output } = await gatehouse(words);
    t.deepEqual([code, output], [2, '']);
    t.regex(errors, said);
  });
}

test('no message contains the password of the database', async (t) => {
  const runs: [words: string[], code: number, said: RegExp][] = [
    [
      ['migrate', '--database', 'nonsense://user:geheim@host'],
      2,
      /^storage: there is no kind of database "nonsense:"; use sqlite:/,
    ],
    [
      ['migrate', '--database', 'postgres://user:geheim@127.0.0.1:1/x'],
      1,
      /^The database could not be used \(ECONNREFUSED 127\.0\.0\.1:1\): nothing answers there; start the database server, or correct the address\.\n$/,
    ],
    [['migrate', '--databse', 'mysql://user:geh@eim@host/x'], 2, /unknown option '--databse'/],
    [['migrate', 'mysql://user:geh@eim@host/x'], 2, /but got 1: mysql:\/\/user:\*\*\*@host\/x\./],
    [['postgres://user:geheim@host/x'], 2, /unknown command 'postgres:\/\/user:\*\*\*@host\/x'/],
  ];
  for (const [words, code, said] of runs) {
    const outcome = await gatehouse(words);
    t.is(outcome.code, code);
    t.regex(outcome.errors, said);
    t.notRegex(outcome.errors + outcome.output, /geh/);
  }
});

test('with --json, an error is a document on stderr, and stdout is empty', async (t) => {
  const database = `sqlite:${emptyFile()}`;
  const early = await gatehouse(`client list --json --database ${database}`);
  t.deepEqual([early.code, early.output], [1, '']);
  t.is(JSON.parse(early.errors).error.code, 'ERR_MIGRATIONS_PENDING');
  await gatehouse(`migrate --database ${database}`);

  const missing = await gatehouse(`client show unknown --json --database ${database}`);
  t.deepEqual([missing.code, missing.output], [1, '']);
  t.deepEqual(JSON.parse(missing.errors), {
    error: { code: 'ERR_CLIENT_NOT_FOUND', message: 'There is no client unknown' },
  });

  const create = "client create --name ' ' --grant-type authorization_code --redirect-uri x";
  const invalid = await gatehouse(`${create} --json --database ${database}`);
  t.deepEqual([invalid.code, invalid.output], [2, '']);
  t.like(JSON.parse(invalid.errors), {
    error: {
      code: 'ERR_CLIENT_INVALID',
      fields: [
        { field: 'name', message: 'give a name of 1 to 100 characters' },
        { field: 'redirectUris[0]', message: 'give an absolute URI, such as https://app.example/callback' },
      ],
    },
  });
  const withoutJson = await gatehouse(`${create} --database ${database}`);
  t.deepEqual([withoutJson.code, withoutJson.output], [2, '']);
  t.regex(
    withoutJson.errors,
    /^name: give a name of 1 to 100 characters\nredirectUris\[0\]: give an absolute URI/,
  );
});

test('migrate creates the tables, and a second run changes nothing', async (t) => {
  const database = `sqlite:${temporaryFile()}`;
  const first = await gatehouse(`--database ${database} migrate`);
  t.like(first, { code: 0, errors: '' });
  t.regex(first.output, /^Migrated: 0001_first_tables/);
  const second = await gatehouse('migrate', { DATABASE_URL: database });
  t.deepEqual(second, { code: 0, output: 'The database is up to date.\n', errors: '' });
});

test('prune deletes what has expired and nothing else', async (t) => {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  const now = Math.floor(Date.now() / 1000);
  for (const [id, expiresAt] of Object.entries({ old: now - 60, older: now - 61, live: now + 3600 })) {
    await storage.sessions.insert({ id, uid: id, userId: '1', payload: {}, expiresAt, sequence: 1 });
  }
  const { code, errors, output } = await gatehouse(`prune --database ${address}`);
  t.deepEqual([code, output, errors], [0, 'Removed 2 expired rows.\n', '']);
  t.is((await storage.sessions.find('live'))?.session.id, 'live');
  await storage.close();
});

test('revoke takes exactly one target, and asks before it revokes', async (t) => {
  const file = temporaryFile();
  const database = `--database sqlite:${file}`;
  t.is((await gatehouse(`migrate ${database}`)).code, 0);
  for (const given of ['', '--all --user 7', "--user ''"]) {
    const { code, errors } = await gatehouse(`revoke ${given} --yes ${database}`);
    t.deepEqual([code, errors], [2, 'Give --all, or --user with the id of a user.\n']);
  }
  const asked = await gatehouse(`revoke --all ${database}`);
  t.deepEqual(
    [asked.code, asked.errors],
    [2, 'Revoke all tokens, logins, authorizations and remembered consents? Add --yes to do it.\n'],
  );
  const storage = knexStorage(`sqlite:${file}`);
  const before = await storage.revocations.latestSequence();
  t.deepEqual(await gatehouseJson(`revoke --user 7 --yes ${database}`), {
    revoked: { user: '7' },
  });
  t.true((await storage.revocations.latestSequence()) > before);
  await storage.close();
});

test('a database without tables, or with older ones, has to be migrated first', async (t) => {
  const empty = await gatehouse(`prune --database sqlite:${emptyFile()}`);
  t.is(empty.code, 1);
  t.regex(empty.errors, /^The database lacks \d+ migration\(s\): .*Run `gatehouse migrate`/);

  const file = temporaryFile();
  const storage = knexStorage(`sqlite:${file}`);
  await storage.migrate();
  await storage.close();
  const database = connectHost('better-sqlite3', `sqlite:${file}`);
  await database('gatehouse_migrations').where('name', 'like', '0002%').delete();
  await database.destroy();
  const older = await gatehouse(`client list --database sqlite:${file}`);
  t.deepEqual([older.code, older.output], [1, '']);
  t.regex(older.errors, /^The database lacks 1 migration\(s\): 0002_/);
});

test('an invalid gate file is an error that names it', async (t) => {
  const database = '--database sqlite::memory:';
  const empty = temporaryFile('empty.mjs');
  const broken = temporaryFile('broken.mjs');
  writeFileSync(empty, 'export const gates = {};');
  writeFileSync(broken, 'export const gate = {;');
  for (const [file, said] of [
    ['/nowhere/gate.ts', /^--gate: there is no file \/nowhere\/gate\.ts\.\n$/],
    [empty, /empty\.mjs has to export `gate`, made by defineGate\(\)\.\n$/],
    [broken, /broken\.mjs cannot be loaded: /],
  ] as const) {
    const { code, errors } = await gatehouse(`client list --gate ${file} ${database}`);
    t.is(code, 2);
    t.regex(errors, said);
  }
});

test('the exit code is that of the command, whatever a gate file has started', async (t) => {
  const gate = temporaryFile('gate.ts');
  writeFileSync(
    gate,
    `import { defineGate } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))};
     // A timer of a host's module: the command ends although it is active.
     setInterval(() => {}, 60_000);
     export const gate = defineGate({ permissions: { view_schools: 'View schools' } });`,
  );
  const database = `sqlite:${emptyFile()}`;
  const early = await gatehouseProcess(`client list --gate ${gate} --database ${database}`);
  t.deepEqual([early.code, early.output], [1, '']);
  t.is((await gatehouse(`migrate --database ${database}`)).code, 0);
  const late = await gatehouseProcess(`client list --gate ${gate} --database ${database}`);
  t.deepEqual(late, { code: 0, output: 'No clients.\n', errors: '' });
  t.is((await gatehouseProcess(['mirgate'])).code, 2);
});

test('no command loads oidc-provider, nor Knex for an SQLite file', async (t) => {
  const database = `sqlite:${temporaryFile()}`;
  const program = new URL('../../lib/cli/program.ts', import.meta.url).href;
  const source = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { run } = await import(${JSON.stringify(program)});
    const commands = [['migrate'], ['client', 'list'], ['keys', 'rotate'], ['prune'], ['doctor'], ['client', 'show', 'x']];
    for (const words of commands) await run([...words, '--database', ${JSON.stringify(database)}]);
    console.log(loaded.join('\\n'));`;
  const run = promisify(execFile);
  const words = ['--conditions=gatehouse:source', '--input-type=module', '-e', source];
  const { stdout } = await run(process.execPath, words);
  t.regex(stdout, /node_modules\/better-sqlite3\//);
  t.notRegex(stdout, /node_modules\/(knex|oidc-provider|koa|koa-router|@koa\/router|zod)\//);
});

test('a closed stdout is no error', async (t) => {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  await storage.close();
  const main = new URL('../../lib/cli/main.ts', import.meta.url).pathname;
  const child = spawn(
    process.execPath,
    ['--conditions=gatehouse:source', main, 'client', 'list', '--json', '--database', address],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  // Before anything was written.
  child.stdout.destroy();
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  t.deepEqual([code, errors], [0, '']);
});
