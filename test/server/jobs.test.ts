import { setTimeout as delay } from 'node:timers/promises';

import test from 'ava';

import { startJobs } from '../../lib/server/jobs.ts';
import { rememberingLogger } from '../harness/platform.ts';

const every = 0.005;

// The timers of jobs keep no process alive.
const alive = setInterval(() => {}, 1000);
test.after.always(() => clearInterval(alive));

test('a job that takes longer than its interval is not begun twice; another one is not kept waiting by it', async (t) => {
  const released = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  const otherRan = Promise.withResolvers<void>();
  let begun = 0;
  let others = 0;
  const stop = startJobs(
    [
      {
        name: 'slow',
        every,
        async run() {
          begun += 1;
          if (begun > 1) again.resolve();
          await released.promise;
        },
      },
      {
        name: 'other',
        every,
        async run() {
          others += 1;
          if (others === 5) otherRan.resolve();
        },
      },
    ],
    rememberingLogger(),
  );
  await otherRan.promise;
  t.is(begun, 1);
  released.resolve();
  await again.promise;
  await stop();
});

test('a job that fails is logged and begun again at its next time', async (t) => {
  const logger = rememberingLogger();
  const again = Promise.withResolvers<void>();
  let begun = 0;
  const run = async (): Promise<void> => {
    begun += 1;
    if (begun > 1) return again.resolve();
    throw new Error('the database is away');
  };
  const stop = startJobs([{ name: 'prune', every, run }], logger);
  await again.promise;
  await stop();
  t.like(logger.lines, [
    {
      level: 'warn',
      message: 'job failed',
      fields: { job: 'prune', err: { message: 'the database is away' } },
    },
  ]);
});

test('who stops the jobs waits for the one under way, which is told; none is begun after that', async (t) => {
  const begun = Promise.withResolvers<AbortSignal>();
  const released = Promise.withResolvers<void>();
  let runs = 0;
  const run = async (signal: AbortSignal): Promise<void> => {
    runs += 1;
    begun.resolve(signal);
    await released.promise;
  };
  const stop = startJobs([{ name: 'prune', every, run }], rememberingLogger());
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
