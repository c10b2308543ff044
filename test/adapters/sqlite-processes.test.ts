import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Redemption } from '../../lib/contracts.ts';
import { aCode, aGrant, NOW } from '../../lib/testing/storage/rows.ts';
import { temporaryFile } from './temporary-file.ts';

function start(program: string, ...values: string[]): ChildProcess {
  return fork(new URL(program, import.meta.url), values, {
    execArgv: ['--conditions=gatehouse:source', '--disable-warning=ExperimentalWarning'],
  });
}

test('two processes that redeem the same codes at once have one winner each', async (t) => {
  const file = temporaryFile();
  const storage = knexStorage(file);
  t.teardown(async () => storage.close());
  await storage.migrate();
  const codes = Array.from({ length: 200 }, (_, index) => `code ${index}`);
  for (const id of codes) await storage.credentials.start(aGrant({ id }), aCode({ id, grantId: id }));

  const processes = ['a', 'b'].map((name) => start('redeeming-process.ts', file, name));
  await Promise.all(processes.map(async (child) => once(child, 'message')));
  const answers = processes.map(async (child): Promise<Redemption[]> => (await once(child, 'message'))[0]);
  for (const child of processes) child.send(codes);
  const [a = [], b = []] = await Promise.all(answers);

  for (const [index, id] of codes.entries()) {
    const winner = a[index]?.outcome === 'redeemed' ? 'a' : 'b';
    const loser = winner === 'a' ? b[index] : a[index];
    t.like(loser, { outcome: 'spent', consumedAt: NOW, sealedSuccessor: winner }, id);
    const successors = await Promise.all(
      ['a', 'b'].map(async (name) => storage.credentials.find('refresh_token', `${id} ${name}`)),
    );
    t.deepEqual(
      successors.flatMap((found) => found?.credential.id ?? []),
      [`${id} ${winner}`],
    );
  }
});

test('processes that start at once run each migration once', async (t) => {
  const file = temporaryFile();
  const processes = ['a', 'b', 'c'].map((name) => start('redeeming-process.ts', file, name));
  await Promise.all(processes.map(async (child) => once(child, 'message')));
  for (const child of processes) child.send([]);
  const storage = knexStorage(file);
  t.teardown(async () => storage.close());
  t.deepEqual(await storage.pendingMigrations(), []);
});

test('a process that is killed while it migrates leaves no lock and no half of a schema', async (t) => {
  const file = temporaryFile();
  const child = start('migrating-process.ts', file);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');

  const storage = knexStorage(file);
  t.teardown(async () => storage.close());
  t.true((await storage.pendingMigrations()).length > 0);
  await storage.migrate();
  t.deepEqual(await storage.pendingMigrations(), []);
});
