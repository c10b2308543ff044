import { toMilliseconds } from '../contracts/duration.ts';
import type { EndStore, Seconds, WrittenEnd } from '../contracts/index.ts';
import type { DeliverySender } from './delivery-sender.ts';

// How often the sender looks for deliveries that other nodes have not sent before they ended, and for those that are sent again.
const EVERY: Seconds = 5;

/**
 * Runs a sender until it is stopped, and triggers it at once when this process ends something.
 *
 * @param isActedOn - whether an end of this kind triggers the sender at once. @default all kinds but `token`, because there are many ends
 * of tokens, which are for caches
 */
export async function runOnEnds(
  ends: Pick<EndStore, 'onWritten'>,
  { stop, trigger }: DeliverySender,
  signal: AbortSignal,
  isActedOn = (kind: WrittenEnd['kind']): boolean => kind !== 'token',
): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const unlisten = ends.onWritten(({ kind }) => {
    if (isActedOn(kind)) trigger();
  });
  const timer = setInterval(trigger, toMilliseconds(EVERY)).unref();
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  trigger();
  await stopped.promise;
  clearInterval(timer);
  unlisten();
  await stop();
}
