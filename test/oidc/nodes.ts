import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createInterface } from 'node:readline';

import { compileCache } from '../harness/compile-cache.ts';

const NODE = new URL('node-process.ts', import.meta.url).pathname;

export interface NodeSettings {
  /** The URL of the database. */
  readonly address: string;
  readonly issuer: string;
  readonly tokens?: { readonly refreshGrace: number };
  readonly devices?: true;
  readonly openid?: true;
  /**
   * The number of stopped requests, or of redeemed credentials, at which the process kills itself, or the method of the storage after which
   * it does: of one that finds rows, when it has found some.
   */
  readonly kill?: { readonly stopped?: number; readonly redeemed?: number; readonly after?: string };
}

/** A call of the storage at which a request stops for good. */
export interface Stop {
  /** The number of the call within the request; 1 for the first. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

const STOP = 'test-stop';

/** The header field that makes a request stop. */
export function stopAt({ call, when }: Stop): Record<string, string> {
  return { [STOP]: `${when} ${call}` };
}

/** The call at which a request stops. */
export function stopOf(headers: IncomingHttpHeaders): Stop | undefined {
  const [, when, call] = /^(before|after) (\d+)$/.exec(String(headers[STOP])) ?? [];
  return call === undefined ? undefined : { call: Number(call), when: when as Stop['when'] };
}

/** A command for a process of nodes. */
export type Command = { readonly number: number } & (
  | { readonly open: NodeSettings }
  | { /** The origin of the node. */ readonly close: string }
);

/** A node of another process. */
export interface Node extends AsyncDisposable {
  readonly origin: string;
}

/** A process that runs any number of nodes. Disposing ends it and its nodes. */
export interface NodeProcess extends AsyncDisposable {
  open(settings: NodeSettings): Promise<Node>;
  /** Stops the process for a while: what is sent to it waits. */
  pause(): void;
  resume(): void;
  /** Resolves at the end of the process to the signal that ended it, or null. */
  readonly end: Promise<NodeJS.Signals | null>;
}

export function startProcess(): NodeProcess {
  const child = spawn(process.execPath, ['--conditions=gatehouse:source', NODE], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...compileCache },
  });
  const end = once(child, 'close').then(([, signal]) => signal as NodeJS.Signals | null);
  const answers = new Map<number, (origin: string) => void>();
  createInterface(child.stdout).on('line', (line) => {
    const { number, origin } = JSON.parse(line) as { number: number; origin: string };
    answers.get(number)?.(origin);
  });
  let count = 0;

  async function send(what: { open: NodeSettings } | { close: string }): Promise<string> {
    count += 1;
    const command: Command = { number: count, ...what };
    return new Promise((resolve) => {
      answers.set(command.number, resolve);
      child.stdin.write(`${JSON.stringify(command)}\n`);
    });
  }

  return {
    async open(settings) {
      const origin = await send({ open: settings });
      return { origin, [Symbol.asyncDispose]: async () => void (await send({ close: origin })) };
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    end,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await end;
    },
  };
}
