/** A node in a process of its own: `node-process.ts <NodeSettings as JSON>`. Says where it listens; ends with its input. */
import { AsyncLocalStorage } from 'node:async_hooks';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { bareApp, startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { stopOf } from './nodes.ts';
import type { NodeSettings, Stop } from './nodes.ts';

interface UnderWay {
  readonly stop: Stop | undefined;
  /** Of the storage, so far. */
  calls: number;
  isStopped: boolean;
}

const { address, death, ...options } = JSON.parse(process.argv[2] ?? '') as NodeSettings;
const requests = new AsyncLocalStorage<UnderWay>();
let stopped = 0;
let redeemed = 0;

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
const platform = await startPlatform(
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
process.stdout.write(`${platform.origin}\n`);
process.stdin.resume().on('end', () => void platform[Symbol.asyncDispose]());

function isStop(stopAt: Stop | undefined, call: number, when: Stop['when']): boolean {
  return stopAt?.call === call && stopAt.when === when;
}

/** Nothing of the request reaches the storage from here on. */
async function stop(request: UnderWay): Promise<never> {
  if (!request.isStopped) stopped += 1;
  request.isStopped = true;
  if (stopped === death?.stopped) die();
  return new Promise(() => {});
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
