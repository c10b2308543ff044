import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import type { StoredChange } from '../../lib/contracts/index.ts';
import type { StorageTest } from './store-tests.ts';

export function changeContract(test: StorageTest): void {
  test('changes: where there are messages, they reach every subscriber', async (t, { changes: feed }) => {
    // A storage need not have any.
    t.true(feed === undefined || typeof feed.publish === 'function');
    if (!feed) return;
    const received: (readonly StoredChange[])[] = [];
    const receivedToo: (readonly StoredChange[])[] = [];
    await feed.subscribe((changes) => received.push(changes));
    await feed.subscribe((changes) => receivedToo.push(changes));

    async function publish(changes: readonly StoredChange[]): Promise<void> {
      // The storage may still be connecting, and until then nothing is received.
      do {
        await feed!.publish(changes);
        await delay(50);
      } while (!received.some((message) => isDeepStrictEqual(message, changes)));
    }

    await publish([{ clientId: 'timetable' }, { userId: "O'Neill ☃", tokenId: '?' }]);
    await publish([]);
    t.deepEqual(receivedToo, received);

    const many = Array.from({ length: 100 }, () => ({ userId: '☃'.repeat(255) }));
    received.length = 0;
    await feed.publish(many);
    // All of them, or any change.
    while (!received.some(({ length }) => length === many.length || length === 0)) await delay(10);
  });
}
