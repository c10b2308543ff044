import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../../adapters/temporary-file.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { like } from '../../harness/like.ts';
import { aSession } from '../../storage/rows.ts';
import { gateFile, gatehouse, gatehouseJson, gatehouseProcess, migrated } from '../../cli/gatehouse.ts';

test('--help lists the commands, and each command has its own help', async (t) => {
  const all = await gatehouse('--help');
  t.like(all, { code: 0, errors: '' });
  t.regex(all.output, /^Usage: gatehouse \[options\] \[command\]\n/);
  for (const name of ['migrate', 'client', 'signing-keys', 'prune', 'doctor']) {
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

test('invalid arguments are errors before the database is opened, and no message contains its password', async (t) => {
  const password = 'geh@eim';
  for (const [words, said, code = 2] of [
    ['', /^Usage: gatehouse \[options\] \[command\]/],
    ['mirgate', /^error: unknown command 'mirgate'\n\(Did you mean migrate\?\)\n$/],
    ['constructor', /^error: unknown command 'constructor'\n$/],
    ['client craete', /^error: unknown command 'craete'\n\(Did you mean create\?\)\n$/],
    ['migrate', /^Give the database: --database URL, or the environment variable DATABASE_URL\.\n$/],
    ['migrate now', /^error: too many arguments for 'migrate'\. Expected 0 arguments but got 1: now\.\n$/],
    ['migrate --jsno', /^error: unknown option '--jsno'\n\(Did you mean --json\?\)\n$/],
    ['client show', /^error: missing required argument 'client-id'\n$/],
    ['client create', /^error: required option '--name <name>' not specified\n$/],
    ['client create --nam Reports', /^error: unknown option '--nam'\n\(Did you mean --name\?\)\n$/],
    [
      'client create --name A --grant-type password',
      /Allowed choices are authorization_code, client_credentials, device_code\./,
    ],
    ['client list --limit 0', /Give a number from 1 to 200\./],
    ['client list --limit many', /Give a number from 1 to 200\./],
    ['client secrets add x --expires-at tomorrow', /Give a date such as 2027-05-31, or a time such as /],
    ['client secrets add x --expires-at 2020-01-01', /Give a time in the future\./],
    ['client rotate-secret x --overlap -1', /Give seconds, or a number and a unit/],
    ["signing-keys rotate --after '1 moon'", /Give seconds, or a number and a unit/],
    [
      `migrate --database nonsense://user:${password}@host`,
      /^storage: there is no kind of database "nonsense:"; use sqlite:/,
    ],
    [
      `migrate --database postgres://user:geheim@127.0.0.1:1/x`,
      /^The database could not be used \(ECONNREFUSED 127\.0\.0\.1:1\): nothing answers there; start the database server, or correct the address\.\n$/,
      1,
    ],
    [`migrate --databse mysql://user:${password}@host/x`, /unknown option '--databse'/],
    [`migrate mysql://user:${password}@host/x`, /but got 1: mysql:\/\/user:\*\*\*@host\/x\./],
    [`postgres://user:${password}@host/x`, /unknown command 'postgres:\/\/user:\*\*\*@host\/x'/],
  ] as const) {
    const outcome = await gatehouse(words);
    t.deepEqual([outcome.code, outcome.output], [code, ''], words);
    t.regex(outcome.errors, said);
    t.notRegex(outcome.errors, /geh/);
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
  like(t, JSON.parse(invalid.errors), {
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

test('migrate creates the tables, a second run changes nothing, and other commands need them', async (t) => {
  const DATABASE_URL = `sqlite:${temporaryFile()}`;
  const first = await gatehouse(`--database ${DATABASE_URL} migrate`);
  t.like(first, { code: 0, errors: '' });
  t.regex(first.output, /^Migrated: 0001_tables/);
  const second = await gatehouse('migrate', { DATABASE_URL });
  t.deepEqual(second, { code: 0, output: 'The database is up to date.\n', errors: '' });

  const database = connectHost('better-sqlite3', DATABASE_URL);
  await database('gatehouse_migrations').delete();
  await database.destroy();
  for (const [address, said] of [
    [DATABASE_URL, /^The database lacks \d+ migration\(s\): 0001_/],
    [`sqlite:${emptyFile()}`, /^The database lacks \d+ migration\(s\): .*Run `gatehouse migrate`/],
  ] as const) {
    const { code, errors, output } = await gatehouse('prune', { DATABASE_URL: address });
    t.deepEqual([code, output], [1, '']);
    t.regex(errors, said);
  }
});

test('prune deletes what has expired and nothing else', async (t) => {
  const DATABASE_URL = await migrated();
  const storage = knexStorage(DATABASE_URL);
  const now = Math.floor(Date.now() / 1000);
  for (const [id, expiresAt] of Object.entries({ old: now - 60, older: now - 61, live: now + 3600 })) {
    await storage.sessions.insert(aSession({ id, uid: id, expiresAt }));
  }
  t.deepEqual(await gatehouse('prune', { DATABASE_URL }), {
    code: 0,
    output: 'Removed 2 expired rows.\n',
    errors: '',
  });
  t.is((await storage.sessions.find('live'))?.session.id, 'live');
  await storage.close();
});

test('revoke takes exactly one target, and asks before it revokes', async (t) => {
  const DATABASE_URL = await migrated();
  for (const [given, said] of [
    ['--yes', 'Give one of --all, --user-id, --client-id and --grant-id.\n'],
    ['--yes --all --user-id 7', 'Give one of --all, --user-id, --client-id and --grant-id.\n'],
    ["--yes --user-id ''", 'Give one of --all, --user-id, --client-id and --grant-id.\n'],
    ['--all', 'Revoke all tokens, logins, authorizations and remembered consents? Add --yes to do it.\n'],
  ] as const) {
    const { code, errors } = await gatehouse(`revoke ${given}`, { DATABASE_URL });
    t.deepEqual([code, errors], [2, said]);
  }
  const storage = knexStorage(DATABASE_URL);
  const before = await storage.revocations.latestSequence();
  const revoked = await gatehouseJson('revoke --user-id 7 --yes', { DATABASE_URL });
  t.deepEqual(revoked, { revoked: { user_id: '7' } });
  t.true((await storage.revocations.latestSequence()) > before);
  await storage.close();
});

test('an invalid gate file is an error that names it', async (t) => {
  const database = '--database sqlite::memory:';
  const empty = gateFile('export const gates = {};');
  const broken = gateFile('export const gate = {;');
  for (const [file, said] of [
    ['/nowhere/gate.ts', /^--gate: there is no file \/nowhere\/gate\.ts\.\n$/],
    [empty, /gate\.ts has to export `gate`, made by defineGate\(\)\.\n$/],
    [broken, /gate\.ts cannot be loaded: /],
  ] as const) {
    const { code, errors } = await gatehouse(`client list --gate ${file} ${database}`);
    t.is(code, 2);
    t.regex(errors, said);
  }
});

test('the exit code is that of the command, whatever a gate file has started', async (t) => {
  // A timer of a host's module: the command ends although it is active.
  const gate = gateFile(
    `setInterval(() => {}, 60_000);
     export const gate = defineGate({ permissions: { view_schools: 'View schools' } });`,
  );
  const words = `client list --gate ${gate} --database`;
  const early = await gatehouseProcess(`${words} sqlite:${emptyFile()}`);
  t.deepEqual([early.code, early.output], [1, '']);
  t.deepEqual(await gatehouseProcess(`${words} ${await migrated()}`), {
    code: 0,
    output: 'No clients.\n',
    errors: '',
  });
});

test('no command loads oidc-provider, nor Knex for an SQLite file', async (t) => {
  const database = `sqlite:${temporaryFile()}`;
  const program = new URL('../../../lib/cli/program.ts', import.meta.url).href;
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
  const address = await migrated();
  const main = new URL('../../../lib/cli/main.ts', import.meta.url).pathname;
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
