import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

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

/** A node in a process of its own. Disposing lets it end. */
export interface Node extends AsyncDisposable {
  readonly origin: string;
  /** The signal that it died of, when it did. */
  readonly end: Promise<NodeJS.Signals | null>;
}

export async function startNode(settings: NodeSettings): Promise<Node> {
  const child = spawn(process.execPath, ['--conditions=gatehouse:source', NODE, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Compiling is most of what starting a node takes.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'), ...process.env },
  });
  const end = once(child, 'close');
  const lines = createInterface(child.stdout);
  const [origin] = (await once(lines, 'line')) as [string];
  return {
    origin,
    end: end.then(([, signal]) => signal as NodeJS.Signals | null),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await end;
    },
  };
}

/** Starts nodes on one database, and gives the origins where they listen. */
export async function startNodes(
  count: number,
  settings: NodeSettings,
): Promise<{ readonly origins: readonly string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const nodes = await Promise.all(Array.from({ length: count }, () => startNode(settings)));
  return {
    origins: nodes.map(({ origin }) => origin),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}
