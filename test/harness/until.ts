import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for what the server does after its response, such as a write for which no request waits.
 *
 * @param pause - in milliseconds: longer for what takes seconds and costs requests to ask
 */
export async function until(isTrue: () => boolean | Promise<boolean>, pause = 20): Promise<void> {
  while (!(await isTrue())) await delay(pause);
}
