import { StorageError } from 'koa-gatehouse';

/** Runs a function as soon as the limit allows it. */
export type RunLimited = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Limits how many functions run at the same time; the others wait in a queue.
 *
 * @param most - how many run at the same time
 * @param waiting - the maximum length of the queue
 * @throws StorageError when the queue is full: the pages answer it with 503
 */
export function limitConcurrency({
  most,
  waiting,
}: {
  readonly most: number;
  readonly waiting: number;
}): RunLimited {
  let running = 0;
  const queue: (() => void)[] = [];

  return async function runLimited(work) {
    if (queue.length >= waiting) throw new StorageError('Too many logins at the same time. Try again later.');
    if (running >= most) await new Promise<void>((resolve) => queue.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      // The first in the queue takes this place, before any later call.
      if (next) next();
      else running -= 1;
    }
  };
}
