import { setTimeout as delay } from 'node:timers/promises';

/** Waits for what the server does after its response, such as a write for which no request waits. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(20);
}
