import { mock } from 'node:test';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';
import { StorageError } from 'koa-gatehouse';

import { startJobs } from '../../../lib/server/jobs.ts';
import { like } from '../../harness/like.ts';
import { recordingLogger } from '../../harness/platform.ts';

const every = 0.005;

// The timers of jobs do not keep a process running.
const keepAlive = setInterval(() => {}, 1000);
test.after.always(() => clearInterval(keepAlive));

test('a job that takes longer than its interval is not started twice, and does not delay other jobs', async (t) => {
  const released = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  const otherRan = Promise.withResolvers<void>();
  let begun = 0;
  let others = 0;
  const slow = async (): Promise<void> => {
    begun += 1;
    if (begun > 1) again.resolve();
    await released.promise;
  };
  const other = async (): Promise<void> => {
    others += 1;
    if (others === 5) otherRan.resolve();
  };
  const jobs = [
    { name: 'slow', every, run: slow },
    { name: 'other', every, run: other },
  ];
  const stop = startJobs(jobs, recordingLogger());
  await otherRan.promise;
  t.is(begun, 1);
  released.resolve();
  await again.promise;
  await stop();
});

test('a job that fails is logged, and runs again at its next interval', async (t) => {
  const logger = recordingLogger();
  const again = Promise.withResolvers<void>();
  let begun = 0;
  const run = async (): Promise<void> => {
    begun += 1;
    if (begun > 1) return again.resolve();
    throw new Error('the database failed');
  };
  const stop = startJobs([{ name: 'prune', every, run }], logger);
  await again.promise;
  await stop();
  const fields = { job: 'prune', err: { message: 'the database failed' } };
  like(t, logger.lines, [{ level: 'warn', message: 'job failed', fields }]);
});

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    mock.timers.tick(1000);
    await setImmediate();
  }
}

test.serial(
  'while the database is away, jobs that fail get a line for each cause, and one with the number of the others',
  async (t) => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const logger = recordingLogger();
      const causes = ['not reachable', 'not reachable', 'shutting down', 'not reachable', 'not reachable'];
      const left = [...causes];
      const run = async (): Promise<void> => {
        const cause = left.shift();
        if (cause !== undefined) throw new StorageError(`The database is ${cause}.`);
      };
      const stop = startJobs(
        ['read keys', 'prune'].map((name) => ({ name, every: 1, run })),
        logger,
      );
      const lines = (): unknown[] =>
        logger.lines.splice(0).map(({ fields, level, message }) => {
          const { cause, count, err, job } = fields as Record<string, unknown>;
          return [level, message, job ?? count, String(err ?? cause).replace(/^.*is /, '')];
        });
      await pass(3);
      t.deepEqual(lines(), [
        ['warn', 'job failed', 'read keys', 'not reachable.'],
        ['warn', 'job failed', 'read keys', 'shutting down.'],
      ]);
      await pass(10);
      t.deepEqual(lines(), [['warn', 'job failed again', 3, 'not reachable.']]);
      // The outage is over, and forgotten.
      await pass(20);
      t.deepEqual(lines(), []);
      left.push('not reachable', 'not reachable');
      await pass(1);
      t.deepEqual(lines(), [['warn', 'job failed', 'read keys', 'not reachable.']]);
      await pass(10);
      t.deepEqual(lines(), [['warn', 'job failed again', 1, 'not reachable.']]);
      await stop();
    } finally {
      mock.timers.reset();
    }
  },
);

test('stopping the jobs aborts the running one, waits for it, and starts no other', async (t) => {
  const begun = Promise.withResolvers<AbortSignal>();
  const released = Promise.withResolvers<void>();
  let runs = 0;
  const run = async (signal: AbortSignal): Promise<void> => {
    runs += 1;
    begun.resolve(signal);
    await released.promise;
  };
  const stop = startJobs([{ name: 'prune', every, run }], recordingLogger());
  const signal = await begun.promise;
  t.false(signal.aborted);
  let isStopped = false;
  const stopping = stop().finally(() => {
    isStopped = true;
  });
  t.true(signal.aborted);
  await delay(20);
  t.false(isStopped);
  released.resolve();
  await stopping;
  await delay(20);
  t.is(runs, 1);
});
