import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

import type { Answered, Asked, Listening, Question, Usage } from '../protocol.ts';
import { childUsage } from './child-processes.ts';
import type { Served } from './serve-contestant.ts';

const profiler = new Session();

type Answers = Readonly<Record<Question, () => Promise<unknown>>>;

/** The answers of a server with one process. */
export function ownAnswers({ countStatements = () => 0, prune }: Partial<Served> = {}): Answers {
  let stopping = new AbortController();
  let pruned: Promise<boolean> | undefined;
  return {
    async 'start pruning'() {
      stopping = new AbortController();
      const { signal } = stopping;
      pruned = prune?.(signal).then(() => signal.aborted);
    },
    async 'stop pruning'() {
      stopping.abort();
      return pruned;
    },
    usage: async () => ({ ...ownUsage(), statements: countStatements() }),
    async 'start profile'() {
      profiler.connect();
      await profiler.post('Profiler.enable');
      await profiler.post('Profiler.start');
    },
    async 'stop profile'() {
      const { profile } = await profiler.post('Profiler.stop');
      profiler.disconnect();
      return profile;
    },
  };
}

/** Sends the origin to the driver, then answers its questions until the driver ends. */
export function answerQuestions(listening: Listening, answers: Answers): void {
  process.on('message', ({ number, question }: Asked) => {
    void answers[question]().then((answer) => process.send?.({ number, answer } satisfies Answered));
  });
  // The driver has ended.
  process.on('disconnect', () => process.exit());
  process.send?.(listening);
}

function ownUsage(): Omit<Usage, 'statements'> {
  const { user, system } = process.cpuUsage();
  const children = childUsage();
  return {
    cpu: user + system + children.cpu,
    peakMemory: peakMemory() + children.memory,
    memory: process.memoryUsage.rss() + children.lastingMemory,
  };
}

/** On Linux `maxRSS` includes the memory of the parent process, so that `/proc` is read first. */
function peakMemory(): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
