import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';

import type { Job, Registered } from '../protocol.ts';
import { answerQuestions, ownAnswers } from './answer-questions.ts';

export interface Served {
  readonly listener: RequestListener;
  readonly registered: Registered;
  readonly countStatements?: () => number;
  /** Prunes expired rows until the signal is aborted. */
  readonly prune?: (signal: AbortSignal) => Promise<unknown>;
}

/** Serves a contestant on a free loopback port. */
export async function serveContestant(
  make: (origin: string, job: Job) => Served | Promise<Served>,
): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const origin = `http://127.0.0.1:${port}`;
  const served = await make(origin, readJob());
  server.on('request', served.listener);
  answerQuestions({ origin, registered: served.registered }, ownAnswers(served));
}

export function readJob(): Job {
  return JSON.parse(process.argv[2] ?? '{}') as Job;
}

/** The clients of servers without a database. */
export const FIXED_CLIENTS: Registered = {
  service: { id: 'service', secret: 'a-secret-of-the-service-with-256-bits-of-it' },
  app: { id: 'app', secret: 'a-secret-of-the-app-that-has-256-bits-of-it' },
};
