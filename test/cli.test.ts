import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

const MAIN = new URL('../lib/cli/main.ts', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-cli-'));
test.after.always(() => rmSync(folder, { recursive: true }));

interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

async function gatehouse(words: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--conditions=gatehouse:source', MAIN, ...words],
      { env: { ...process.env, ...env } },
      (_error, output, errors) => resolve({ code: child.exitCode ?? -1, output, errors }),
    );
  });
}

test('migrate makes the tables, and has nothing to do the second time', async (t) => {
  const database = `sqlite:${join(folder, 'migrate.db')}`;
  const first = await gatehouse(['migrate', '--database', database]);
  t.like(first, { code: 0, errors: '' });
  t.regex(first.output, /^Migrated: 0001_first_tables/);
  const second = await gatehouse(['migrate'], { DATABASE_URL: database });
  t.deepEqual(second, { code: 0, output: 'The database is up to date.\n', errors: '' });
});

test('prune removes what has expired and nothing else', async (t) => {
  const database = `sqlite:${join(folder, 'prune.db')}`;
  const storage = knexStorage(database);
  await storage.migrate();
  const now = Math.floor(Date.now() / 1000);
  for (const [id, expiresAt] of Object.entries({ old: now - 60, older: now - 61, live: now + 3600 })) {
    await storage.interactions.save({ id, payload: {}, expiresAt });
  }
  const { code, output } = await gatehouse(['prune', '--database', database]);
  t.deepEqual([code, output], [0, 'Removed 2 expired rows.\n']);
  t.is((await storage.interactions.find('live'))?.id, 'live');
  await storage.close();
});

test('prune on a database without tables says what to do', async (t) => {
  const { code, errors } = await gatehouse(['prune', '--database', `sqlite:${join(folder, 'empty.db')}`]);
  t.is(code, 1);
  t.regex(errors, /^The database lacks \d migration\(s\): .*Run `gatehouse migrate`/);
});

for (const [words, sentence] of [
  [[], 'A command is missing.'],
  [['mirgate'], 'There is no command "mirgate".'],
  [['constructor'], 'There is no command "constructor".'],
  [['migrate'], 'Say which database: --database URL, or the environment variable DATABASE_URL.'],
  [['migrate', 'now'], 'There is no command "migrate now".'],
  [['migrate', '--colour'], "Unknown option '--colour'"],
] as const) {
  test(`called wrongly: gatehouse ${words.join(' ')}`, async (t) => {
    const { code, errors, output } = await gatehouse(words, { DATABASE_URL: '' });
    t.is(code, 2);
    t.is(output, '');
    t.true(errors.startsWith(sentence), errors);
    t.regex(errors, /\n\nUsage: gatehouse <command>/);
  });
}

test('a database that cannot be opened is one sentence, and repeats no password', async (t) => {
  const address = 'nonsense://user:secret-word@host';
  const { code, errors } = await gatehouse(['migrate', '--database', address]);
  t.is(code, 1);
  t.regex(errors, /^storage: this is not an address of a database; use sqlite:/);
  t.notRegex(errors, /secret-word/);
});

test('--help says how it is called', async (t) => {
  const { code, output } = await gatehouse(['--help']);
  t.is(code, 0);
  t.regex(output, /^Usage: gatehouse <command> \[--database URL\]/);
});
