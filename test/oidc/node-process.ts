/**
 * Runs nodes in a separate process. Reads commands as lines of JSON and writes the origin of each node. Ends with its input,
 * or kills itself as configured.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { bareApp, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { around } from '../harness/storage.ts';
import { stopOf } from './nodes.ts';
import type { NodeSettings, Command, Stop } from './nodes.ts';

interface RunningRequest {
  readonly stop: Stop | undefined;
  /** The calls of the storage so far. */
  calls: number;
  isStopped: boolean;
}

// In milliseconds: longer than a test pauses the process.
const KEEP_ALIVE = 60_000;

const requests = new AsyncLocalStorage<RunningRequest>();
const nodes = new Map<string, Platform>();

for await (const line of createInterface(process.stdin)) void run(JSON.parse(line) as Command);
await Promise.all([...nodes.keys()].map(close));

async function run(command: Command): Promise<void> {
  const origin = 'open' in command ? await open(command.open) : await close(command.close);
  process.stdout.write(`${JSON.stringify({ number: command.number, origin })}\n`);
}

async function close(origin: string): Promise<string> {
  const node = nodes.get(origin);
  nodes.delete(origin);
  await node?.[Symbol.asyncDispose]();
  return origin;
}

async function open({ address, devices: hasDevices, kill, ...options }: NodeSettings): Promise<string> {
  let stopped = 0;
  let redeemed = 0;

  /** Stops a request: its further calls of the storage do not return. */
  async function stop(request: RunningRequest): Promise<never> {
    if (!request.isStopped) stopped += 1;
    request.isStopped = true;
    if (stopped === kill?.stopped) killProcess();
    return new Promise(() => {});
  }

  const storage = around(knexStorage(address), async (name, call) => {
    if (name === kill?.after) {
      const found = await call();
      if (!Array.isArray(found) || found.length > 0) killProcess();
      return found;
    }
    const request = requests.getStore();
    // Called for the first token of a process only.
    if (!request || name === 'confirm') return call();
    request.calls += 1;
    const number = request.calls;
    if (request.isStopped || isStop(request.stop, number, 'before')) return stop(request);
    const result = await call();
    if (name === 'grants.redeem') {
      redeemed += 1;
      if (redeemed === kill?.redeemed) killProcess();
    }
    return isStop(request.stop, number, 'after') ? stop(request) : result;
  });
  const node = await startPlatform(
    {
      storage,
      ...options,
      // On demand, so that the other tests run without the folder of the feature.
      features: hasDevices ? [(await import('koa-gatehouse')).devices()] : [],
    },
    {
      ...ON_LOOPBACK,
      app(parts) {
        const listener = bareApp(parts);
        return (message, response) => {
          const { server } = message.socket as Socket & { server: Server };
          // After a pause, Node would close the connections that were idle at its begin.
          server.keepAliveTimeout = KEEP_ALIVE;
          const request = { stop: stopOf(message.headers), calls: 0, isStopped: false };
          requests.run(request, () => listener(message, response));
        };
      },
    },
  );
  nodes.set(node.origin, node);
  return node.origin;
}

function isStop(stopAt: Stop | undefined, call: number, when: Stop['when']): boolean {
  return stopAt?.call === call && stopAt.when === when;
}

function killProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}
