import { toMilliseconds } from '../contracts/duration.ts';
import type { EndStore, Seconds, WrittenEnd } from '../contracts/index.ts';
import type { DeliverySender } from './delivery-sender.ts';

// What other nodes have not sent before they ended, and what is sent again.
const EVERY: Seconds = 5;

/**
 * Runs what acts on ends until it is stopped: at once on what this process ends.
 *
 * @param isActedOn - at once. @default each but those of tokens, of which there are many, for caches
 */
export async function runOnEnds(
  ends: Pick<EndStore, 'onWritten'>,
  { stop, wake }: DeliverySender,
  signal: AbortSignal,
  isActedOn = (kind: WrittenEnd['kind']): boolean => kind !== 'token',
): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const unlisten = ends.onWritten(({ kind }) => {
    if (isActedOn(kind)) wake();
  });
  const timer = setInterval(wake, toMilliseconds(EVERY)).unref();
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  wake();
  await stopped.promise;
  clearInterval(timer);
  unlisten();
  await stop();
}
