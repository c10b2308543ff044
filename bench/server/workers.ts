// A contestant in several processes that share a port, and a database if it has one.
import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { once } from 'node:events';
import { join } from 'node:path';

import type { Answered, Asked, Listening, Question, Usage } from '../protocol.ts';
import { answerQuestions } from './answer-questions.ts';
import { readJob } from './serve-contestant.ts';

const { workers: count = 2, worker: file, ...job } = readJob();

// The first worker creates the tables and the clients.
const first = await startWorker(job);
const workers = [first.worker];
while (workers.length < count) {
  const { worker } = await startWorker({ ...job, registered: first.listening.registered });
  workers.push(worker);
}

answerQuestions(first.listening, {
  async usage() {
    const usages = (await Promise.all(workers.map(async (worker) => ask(worker, 'usage')))) as Usage[];
    const sum = (figure: keyof Usage) => usages.reduce((total, usage) => total + usage[figure], 0);
    const { user, system } = process.cpuUsage();
    return {
      // This process distributes the connections.
      cpu: sum('cpu') + user + system,
      peakMemory: sum('peakMemory'),
      memory: sum('memory'),
      statements: sum('statements'),
    };
  },
  'start profile': async () => ask(first.worker, 'start profile'),
  'stop profile': async () => ask(first.worker, 'stop profile'),
  'start pruning': async () => ask(first.worker, 'start pruning'),
  'stop pruning': async () => ask(first.worker, 'stop pruning'),
});

async function startWorker(given: object): Promise<{ worker: Worker; listening: Listening }> {
  cluster.setupPrimary({
    exec: join(import.meta.dirname, file!),
    args: [JSON.stringify(given)],
    execArgv: job.fromSources ? ['--conditions=gatehouse:source'] : [],
  });
  const worker = cluster.fork();
  const [listening] = (await once(worker, 'message')) as [Listening];
  return { worker, listening };
}

let asked = 0;

async function ask(worker: Worker, question: Question): Promise<unknown> {
  asked += 1;
  const number = asked;
  const answered = Promise.withResolvers<unknown>();
  const onMessage = (message: Answered) => {
    if (message.number !== number) return;
    worker.off('message', onMessage);
    answered.resolve(message.answer);
  };
  worker.on('message', onMessage);
  worker.send({ number, question } satisfies Asked);
  return answered.promise;
}
