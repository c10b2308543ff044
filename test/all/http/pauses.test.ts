import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';

import { watchPauses } from '../../../lib/http/pauses.ts';

const now = performance.now.bind(performance);
let skipped = 0;
performance.now = () => now() + skipped;

/** Stops the process, as the clock of pauses sees it. */
function pause(milliseconds: number): void {
  skipped += milliseconds;
}

/** Keeps the event loop busy, so that it never waits. Resolves to how often `isTrue` was so. */
async function busyFor(milliseconds: number, isTrue: () => boolean): Promise<number> {
  const end = now() + milliseconds;
  let count = 0;
  while (now() < end) {
    if (isTrue()) count += 1;
    await new Promise(setImmediate);
  }
  return count;
}

test.serial('a process that is busy all the time refuses nothing', async (t) => {
  const pauses = watchPauses();
  t.teardown(() => pauses.end());
  t.is(await busyFor(700, () => pauses.isLate), 0);
  pause(4000);
  t.false(pauses.isLate, 'clients wait for longer than this pause');
});

test.serial('a process that has computed meanwhile was not stopped', async (t) => {
  const pauses = watchPauses();
  t.teardown(() => pauses.end());
  const [began, before] = [now(), process.cpuUsage()];
  pause(4800);
  // On a busy machine, a second of computing takes longer.
  for (let part = 0; part < 0.15 || now() - began < 300;) {
    const { system, user } = process.cpuUsage(before);
    part = (system + user) / 1000 / (4800 + now() - began);
  }
  t.false(pauses.isLate);
  t.is(await busyFor(600, () => pauses.isLate), 0, 'nor after its timer has run');
  pause(5100);
  t.true(pauses.isLate, 'it is stopped later');
});

test.serial('after a pause a busy process refuses requests for a second, after each of two', async (t) => {
  const pauses = watchPauses();
  t.teardown(() => pauses.end());
  for (const round of [1, 2]) {
    // The timer runs in the middle of what is expected to be late.
    await busyFor(250, () => true);
    pause(6000);
    t.true(pauses.isLate, `round ${round}`);
    t.is(await busyFor(400, () => !pauses.isLate), 0, `round ${round}: what waited is being read`);
    await busyFor(1250, () => true);
    t.is(await busyFor(100, () => pauses.isLate), 0, `round ${round}: a second later`);
  }
});

test.serial('after a pause a process that waits again refuses nothing', async (t) => {
  const pauses = watchPauses();
  t.teardown(() => pauses.end());
  pause(5100);
  // Until the timer has run, and then until the event loop has waited.
  await delay(700);
  t.false(pauses.isLate);
});
