/** A node in a process of its own: `node-process.ts <NodeSettings as JSON>`. Says where it listens, and then each call of its storage; ends with its input. */
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import type { Death, NodeSettings } from './nodes.ts';

const { address, death, ...options } = JSON.parse(process.argv[2] ?? '') as NodeSettings;
let isServing = false;
let count = 0;

const storage = around(knexStorage(address), async (name, call) => {
  if (!isServing) return call();
  process.stdout.write(`${name}\n`);
  if (death?.of === undefined || death.of === name) count += 1;
  const number = count;
  dieAt(number, 'before');
  const result = await call();
  dieAt(number, 'after');
  return result;
});
const platform = await startPlatform({ storage, ...options });
isServing = true;
process.stdout.write(`${platform.origin}\n`);
process.stdin.resume().on('end', () => {
  isServing = false;
  void platform[Symbol.asyncDispose]();
});

function dieAt(call: number, when: Death['when']): void {
  if (death?.call === call && death.when === when) process.kill(process.pid, 'SIGKILL');
}
