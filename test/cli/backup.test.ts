import { existsSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import test from 'ava';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectHost } from '../adapters/host-knex.ts';
import { gatehouse, gatehouseJson, gatehouseProcess } from './gatehouse.ts';

test('backup copies the state of one moment while a server writes', async (t) => {
  const [source, copy] = [temporaryFile(), temporaryFile('backup.db')];
  const storage = knexStorage(`sqlite:${source}`);
  await storage.migrate();
  const administration = createAdministration({ storage });
  const { clients, keys } = administration;
  await keys.rotate();
  const over = new AbortController();
  const begun = Promise.withResolvers<void>();
  let count = 0;
  // Each one is a row and the row of its secret, in one transaction.
  const writing = (async () => {
    while (!over.signal.aborted) {
      await clients.create({ name: `Client ${count}`, grantType: 'client_credentials' });
      count += 1;
      if (count === 20) begun.resolve();
      await nextTurn();
    }
  })();
  await begun.promise;
  const outcome = await gatehouseProcess(`backup ${copy} --database sqlite:${source}`);
  over.abort();
  await writing;
  await administration.close();

  t.deepEqual(outcome, { code: 0, output: `Written: ${copy}\n`, errors: '' });
  t.is(statSync(copy).mode & 0o777, 0o600);
  t.deepEqual(
    readdirSync(dirname(copy)).filter((name) => name.startsWith(basename(copy))),
    [basename(copy)],
  );
  const restored = connectHost('better-sqlite3', `sqlite:${copy}`);
  const ids: string[] = await restored('gatehouse_clients').orderBy('id').pluck('id');
  t.true(ids.length >= 20 && ids.length <= count);
  t.deepEqual(await restored('gatehouse_client_secrets').orderBy('client_id').pluck('client_id'), ids);
  await restored.destroy();
  t.is((await gatehouse(`doctor --database sqlite:${copy}`)).code, 0);
});

test('backup copies the tables of an older version too, and tells programs where', async (t) => {
  const [source, copy] = [temporaryFile(), temporaryFile('backup.db')];
  writeFileSync(source, '');
  t.deepEqual(await gatehouseJson(`backup ${copy} --database sqlite:${source}`), { backup: copy });
  t.true(existsSync(copy));
});

test('backup overwrites nothing, and leaves nothing when it fails', async (t) => {
  const source = temporaryFile();
  const database = `--database sqlite:${source}`;
  t.is((await gatehouse(`migrate ${database}`)).code, 0);

  const taken = temporaryFile('taken.db');
  writeFileSync(taken, 'precious');
  const refused = await gatehouse(`backup ${taken} ${database}`);
  t.deepEqual(
    [refused.code, refused.errors],
    [2, `file: ${taken} exists; give the path of a new file; a backup is never overwritten.\n`],
  );
  t.is(readFileSync(taken, 'utf8'), 'precious');

  const running = temporaryFile('running.db');
  writeFileSync(`${running}.partial`, 'of another');
  const second = await gatehouse(`backup ${running} ${database}`);
  t.is(second.code, 2);
  t.regex(second.errors, /running\.db\.partial exists: another backup is running/);
  t.is(readFileSync(`${running}.partial`, 'utf8'), 'of another');

  const nowhere = await gatehouse(`backup /nowhere/copy.db ${database}`);
  t.is(nowhere.code, 2);
  t.regex(
    nowhere.errors,
    /^file: \/nowhere\/copy\.db\.partial cannot be created \(ENOENT\); check the folder\.\n$/,
  );

  const damaged = temporaryFile('damaged.db');
  writeFileSync(damaged, readFileSync(source));
  truncateSync(damaged, statSync(damaged).size - 8192);
  const copy = temporaryFile('copy.db');
  const failed = await gatehouse(`backup ${copy} --database sqlite:${damaged}`);
  t.is(failed.code, 1);
  t.regex(failed.errors, /^The backup could not be written \(SQLITE_\w+\)/);
  t.deepEqual([existsSync(copy), existsSync(`${copy}.partial`)], [false, false]);
});

test('backup names the program for another database, and creates no file for a wrong path', async (t) => {
  const copy = temporaryFile('copy.db');
  for (const [address, said] of [
    [
      'postgres://user:geheim@host/x',
      /^database: only an SQLite file is copied; for PostgreSQL use pg_dump, for MariaDB/,
    ],
    ['sqlite::memory:', /^database: only an SQLite file is copied/],
    ['sqlite:/nowhere/typo.db', /^storage: the folder \/nowhere of the database file does not exist/],
    [`sqlite:${copy}-typo`, /^storage: there is no database file .*-typo; correct the path\./],
  ] as const) {
    const { code, errors, output } = await gatehouse(`backup ${copy} --database ${address}`);
    t.deepEqual([code, output], [2, ''], address);
    t.regex(errors, said);
  }
  t.deepEqual([existsSync(copy), existsSync(`${copy}-typo`)], [false, false]);
  t.is((await gatehouse(`backup ${copy}`)).code, 2);
});
