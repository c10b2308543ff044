import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createInterface } from 'node:readline';

import { compileCache } from '../harness/compile-cache.ts';

const NODE = new URL('node-process.ts', import.meta.url).pathname;

/** What a node is told when it is started. */
export interface NodeSettings {
  /** Of the database. */
  readonly address: string;
  readonly issuer: string;
  readonly refreshGrace?: number;
  /** It kills itself as soon as so many requests have stopped, or so many credentials are redeemed. */
  readonly death?: { readonly stopped?: number; readonly redeemed?: number };
}

/** A call of the storage at which a request stops, for ever. */
export interface Stop {
  /** Of the calls that the request leads to; 1 for the first. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

const STOP = 'test-stop';

/** The header field of a request that is to stop. */
export function stopAt({ call, when }: Stop): Record<string, string> {
  return { [STOP]: `${when} ${call}` };
}

/** Where a request is to stop. */
export function stopOf(headers: IncomingHttpHeaders): Stop | undefined {
  const [, when, call] = /^(before|after) (\d+)$/.exec(String(headers[STOP])) ?? [];
  return call === undefined ? undefined : { call: Number(call), when: when as Stop['when'] };
}

/** What a process of nodes is told. */
export type Order = { readonly number: number } & (
  | { readonly open: NodeSettings }
  | { /** Its origin. */ readonly close: string }
);

/** A node that somebody else's process runs. */
export interface Node extends AsyncDisposable {
  readonly origin: string;
}

/** A process that runs nodes, as many as are opened. Disposing lets it end, and them. */
export interface NodeProcess extends AsyncDisposable {
  open(settings: NodeSettings): Promise<Node>;
  /** The signal that it died of, when it did. */
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

  async function tell(what: { open: NodeSettings } | { close: string }): Promise<string> {
    count += 1;
    const order: Order = { number: count, ...what };
    return new Promise((resolve) => {
      answers.set(order.number, resolve);
      child.stdin.write(`${JSON.stringify(order)}\n`);
    });
  }

  return {
    async open(settings) {
      const origin = await tell({ open: settings });
      return { origin, [Symbol.asyncDispose]: async () => void (await tell({ close: origin })) };
    },
    end,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await end;
    },
  };
}
