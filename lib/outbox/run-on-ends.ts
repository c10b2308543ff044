import { toMilliseconds } from '../contracts/duration.ts';
import type { EndStore, Seconds } from '../contracts/index.ts';
import type { DeliverySender } from './delivery-sender.ts';

// What other nodes have not sent before they ended, and what is sent again.
const EVERY: Seconds = 5;

/** Runs what acts on ends until it is stopped: at once on what this process ends. */
export async function runOnEnds(
  ends: Pick<EndStore, 'onWritten'>,
  { stop, wake }: DeliverySender,
  signal: AbortSignal,
): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const unlisten = ends.onWritten(({ kind }) => {
    // Many, of which caches learn.
    if (kind !== 'token') wake();
  });
  const timer = setInterval(wake, toMilliseconds(EVERY)).unref();
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  wake();
  await stopped.promise;
  clearInterval(timer);
  unlisten();
  await stop();
}
