/**
 * Nodes in a process of their own. Reads orders, one a line as JSON, and says where each node listens; ends with its input,
 * or by its own hand when it was told to die.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createInterface } from 'node:readline';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { bareApp, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { stopOf } from './nodes.ts';
import type { NodeSettings, Order, Stop } from './nodes.ts';

interface UnderWay {
  readonly stop: Stop | undefined;
  /** Of the storage, so far. */
  calls: number;
  isStopped: boolean;
}

const requests = new AsyncLocalStorage<UnderWay>();
const nodes = new Map<string, Platform>();

for await (const line of createInterface(process.stdin)) void obey(JSON.parse(line) as Order);
await Promise.all([...nodes.keys()].map(close));

async function obey(order: Order): Promise<void> {
  const origin = 'open' in order ? await open(order.open) : await close(order.close);
  process.stdout.write(`${JSON.stringify({ number: order.number, origin })}\n`);
}

async function close(origin: string): Promise<string> {
  const node = nodes.get(origin);
  nodes.delete(origin);
  await node?.[Symbol.asyncDispose]();
  return origin;
}

async function open({ address, death, ...options }: NodeSettings): Promise<string> {
  let stopped = 0;
  let redeemed = 0;

  /** Nothing of the request reaches the storage from here on. */
  async function stop(request: UnderWay): Promise<never> {
    if (!request.isStopped) stopped += 1;
    request.isStopped = true;
    if (stopped === death?.stopped) die();
    return new Promise(() => {});
  }

  const storage = around(knexStorage(address), async (name, call) => {
    const request = requests.getStore();
    if (!request) return call();
    request.calls += 1;
    const number = request.calls;
    if (request.isStopped || isStop(request.stop, number, 'before')) return stop(request);
    const result = await call();
    if (name === 'credentials.redeem') {
      redeemed += 1;
      if (redeemed === death?.redeemed) die();
    }
    return isStop(request.stop, number, 'after') ? stop(request) : result;
  });
  const node = await startPlatform(
    { storage, ...options },
    {
      app(parts) {
        const listener = bareApp(parts);
        return (message, response) => {
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

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
