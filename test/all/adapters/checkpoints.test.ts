import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

import test from '../../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { loadBetterSqlite3 } from '../../../adapters/drivers/load-better-sqlite3.ts';
import { aSession, HOUR, NOW } from '../../storage/rows.ts';
import { until } from '../../harness/until.ts';
import { start, startWith } from '../../adapters/processes.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';

const MEGABYTE = 2 ** 20;

function logOf(filename: string): number {
  return statSync(`${filename}-wal`).size;
}

test('the log of a file begins again under load and is gone after a rest, again and again', async (t) => {
  const filename = temporaryFile();
  const storage = knexStorage(`sqlite:${filename}`);
  await storage.migrate();
  let count = 0;

  async function write(): Promise<void> {
    for (let times = 0; times < 500; times += 1) {
      // As between two requests.
      await nextTurn();
      count += 1;
      const id = `${count}`;
      await storage.sessions.insert(
        aSession({ id, uid: id, payload: { text: 'x'.repeat(3000) }, expiresAt: NOW + HOUR }),
      );
    }
  }

  for (const written of [8000, 16_000]) {
    await Promise.all(Array.from({ length: 16 }, write));
    t.true(logOf(filename) < 48 * MEGABYTE);
    await until(() => logOf(filename) === 0);
    t.is((await storage.sessions.find(`${written}`))?.session.uid, `${written}`);
  }
  await storage.close();
  t.false(existsSync(`${filename}-wal`));
});

test('a process that may have no threads makes the checkpoints itself', async (t) => {
  const filename = temporaryFile();
  const allowed = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*', '--allow-addons'];
  const child = startWith(allowed, 'writing-process.ts', filename, 'a', '8000');
  const ids: string[] = [];
  child.on('message', (stored: string[]) => ids.push(...stored));
  await until(() => ids.length === 8000);
  const log = logOf(filename);
  t.true(log > 0 && log < 17 * MEGABYTE, `${log}`);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

test('what was stored is there after kill -9, wherever the thread was', async (t) => {
  const filename = temporaryFile();
  for (const name of ['a', 'b']) {
    const child = start('writing-process.ts', filename, name, '1000000');
    const ids: string[] = [];
    child.on('message', (stored: string[]) => ids.push(...stored));
    // Some 20 MB: the thread is at a checkpoint, or has just ended one.
    await until(() => ids.length > 4000);
    child.kill('SIGKILL');
    await once(child, 'exit');

    const file = new (loadBetterSqlite3())(filename);
    t.is(file.pragma('integrity_check', { simple: true }), 'ok');
    const rows = file.prepare(
      'select count(*) as count from gatehouse_sessions where uid in (select value from json_each(?))',
    );
    t.like(rows.all([JSON.stringify(ids)]), [{ count: ids.length }]);
    file.close();
  }
});
