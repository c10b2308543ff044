import { existsSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import test from '../../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../../adapters/temporary-file.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { gatehouse, gatehouseJson, gatehouseProcess, migrated } from '../../cli/gatehouse.ts';

test('backup copies the state of one moment while a server writes', async (t) => {
  const [source, copy] = [temporaryFile(), temporaryFile('backup.db')];
  const storage = knexStorage(`sqlite:${source}`);
  await storage.migrate();
  const administration = createAdministration({ storage });
  const { clients, signingKeys: keys } = administration;
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

test('backup overwrites nothing, and leaves nothing when it fails', async (t) => {
  const database = await migrated();
  const [taken, running, copy] = ['taken.db', 'running.db', 'copy.db'].map((name) => temporaryFile(name));
  writeFileSync(taken!, 'precious');
  writeFileSync(`${running}.partial`, 'of another');
  const damaged = temporaryFile('damaged.db');
  writeFileSync(damaged, readFileSync(database.replace('sqlite:', '')));
  truncateSync(damaged, statSync(damaged).size - 8192);
  for (const [file, address, message, expected = 2] of [
    [taken, database, /^file: \S+ exists; give the path of a new file; a backup is never overwritten\.\n$/],
    [running, database, /running\.db\.partial exists: another backup is running/],
    [
      '/nowhere/copy.db',
      database,
      /^file: \/nowhere\/copy\.db\.partial cannot be created \(ENOENT\); check /,
    ],
    [copy, `sqlite:${damaged}`, /^The backup could not be written \(SQLITE_\w+\)/, 1],
    [
      copy,
      'postgres://user:geheim@host/x',
      /^database: only an SQLite file is copied; for PostgreSQL use pg_d/,
    ],
    [copy, 'sqlite::memory:', /^database: only an SQLite file is copied/],
    [copy, 'sqlite:/nowhere/typo.db', /^storage: the folder \/nowhere of the database file does not exist/],
    [copy, `sqlite:${copy}-typo`, /^storage: there is no database file .*-typo; correct the path\./],
  ] as const) {
    const { code, errors, output } = await gatehouse(`backup ${file} --database ${address}`);
    t.deepEqual([code, output], [expected, ''], errors);
    t.regex(errors, message);
  }
  t.is((await gatehouse(`backup ${copy}`)).code, 2);
  t.is(readFileSync(taken!, 'utf8'), 'precious');
  t.is(readFileSync(`${running}.partial`, 'utf8'), 'of another');
  for (const file of [copy!, `${copy}.partial`, `${copy}-typo`]) t.false(existsSync(file), file);

  // Of a database without tables too; programs are told where.
  const source = temporaryFile();
  writeFileSync(source, '');
  t.deepEqual(await gatehouseJson(`backup ${copy} --database sqlite:${source}`), { backup: copy });
  t.true(existsSync(copy!));
});
