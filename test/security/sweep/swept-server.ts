import { fork } from 'node:child_process';
import { once } from 'node:events';

import type { RegisteredApp } from '../../harness/platform.ts';
import { compileCache } from '../../harness/compile-cache.ts';

/** Where the server listens, and what is registered there. */
export interface Known {
  readonly origin: string;
  /** A confidential app that asks for no consent. */
  readonly app: RegisteredApp;
  readonly publicApp: RegisteredApp;
  /** An app that acts for itself, and may edit schools. */
  readonly service: RegisteredApp;
  /** An app of the developer Dora, and the id of its secret. */
  readonly owned: RegisteredApp;
  readonly secretId: string;
  /** Another one, that may be deleted. */
  readonly doomed: RegisteredApp;
}

export type Order = 'measure' | 'end';

/** How the server is, after its garbage has been collected. */
export interface Report {
  /** Bytes that are in use, on the heap and beside it. */
  readonly used: number;
  /** Bytes that the process has of the system. */
  readonly rss: number;
  /** Seconds that it has computed. */
  readonly cpu: number;
  /** What was logged as an error, or reached the process. */
  readonly faults: readonly string[];
}

export interface SweptServer extends AsyncDisposable {
  readonly known: Known;
  measure(): Promise<Report>;
}

export async function startSweptServer(): Promise<SweptServer> {
  const child = fork(new URL('server.ts', import.meta.url), {
    execArgv: ['--conditions=gatehouse:source', '--disable-warning=ExperimentalWarning', '--expose-gc'],
    env: { ...process.env, ...compileCache },
  });
  const ended = once(child, 'exit');
  const next = async <Message>(): Promise<Message> => {
    const message: unknown = await Promise.race([once(child, 'message'), ended]).then(([first]) => first);
    if (child.exitCode !== null) throw new Error(`The server has ended with ${child.exitCode}`);
    return message as Message;
  };
  const known = await next<Known>();
  return {
    known,
    async measure() {
      child.send('measure' satisfies Order);
      return next<Report>();
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.send('end' satisfies Order);
      await ended;
    },
  };
}
