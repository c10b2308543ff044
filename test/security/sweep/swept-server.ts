import { fork } from 'node:child_process';
import { once } from 'node:events';

import type { RegisteredApp } from '../../harness/platform.ts';
import { compileCache } from '../../harness/compile-cache.ts';

/** The origin of the server, and its clients. */
export interface Known {
  readonly origin: string;
  /** A confidential first-party app. */
  readonly app: RegisteredApp;
  readonly publicApp: RegisteredApp;
  /** A client-credentials app with the permission to edit schools. */
  readonly service: RegisteredApp;
  /** An app of the developer Dora, and the id of its secret. */
  readonly owned: RegisteredApp;
  readonly secretId: string;
  /** An app that may be deleted. */
  readonly doomed: RegisteredApp;
}

export type Order = 'measure' | 'end';

/** Measurements after a garbage collection. */
export interface Report {
  /** Bytes in use, on the heap and outside of it. */
  readonly used: number;
  /** Resident bytes of the process. */
  readonly rss: number;
  /** Seconds of CPU time. */
  readonly cpu: number;
  /** Errors that were logged or not handled. */
  readonly faults: readonly string[];
}

export interface SweptServer extends AsyncDisposable {
  readonly known: Known;
  measure(): Promise<Report>;
}

export async function startSweptServer(): Promise<SweptServer> {
  const child = fork(new URL('server.ts', import.meta.url), {
    // What V8 and malloc keep without need, and how much that is depends on the load of the machine, is kept small.
    execArgv: [
      '--conditions=gatehouse:source',
      '--disable-warning=ExperimentalWarning',
      '--expose-gc',
      '--max-semi-space-size=1',
    ],
    env: { ...process.env, ...compileCache, MALLOC_ARENA_MAX: '1' },
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
