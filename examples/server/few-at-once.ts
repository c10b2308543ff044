import { StorageError } from 'koa-gatehouse';

/** Runs a piece of work when it is its turn. */
export type RunInTurn = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Runs a few pieces of work at once, and lets the others wait in line.
 *
 * @throws StorageError when the line is too long: the pages answer it with 503, and people come back in a moment
 */
export function fewAtOnce({ most, waiting }: { readonly most: number; readonly waiting: number }): RunInTurn {
  let running = 0;
  const line: (() => void)[] = [];

  return async function runInTurn(work) {
    if (line.length >= waiting) throw new StorageError('Too many people sign in at once.');
    if (running >= most) await new Promise<void>((resolve) => line.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = line.shift();
      // The place is handed on, so that nobody who comes just now takes it.
      if (next) next();
      else running -= 1;
    }
  };
}
