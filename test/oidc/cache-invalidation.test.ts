import test from '../harness/test.ts';

import type { ChangeFeed, StoredChange } from '../../lib/contracts/index.ts';
import { CacheInvalidation } from '../../lib/token/cache-invalidation.ts';

/** A feed that hands what one node sends to all of them, while it is not broken. */
function createFeed(): ChangeFeed & { readonly sent: (readonly StoredChange[])[]; isBroken: boolean } {
  const listeners: ((changes: readonly StoredChange[]) => void)[] = [];
  const feed = {
    sent: [] as (readonly StoredChange[])[],
    isBroken: false,
    async publish(changes: readonly StoredChange[]) {
      if (feed.isBroken) throw new Error('the connection is lost');
      feed.sent.push(changes);
      for (const listener of listeners) listener(changes);
    },
    async subscribe(listener: (changes: readonly StoredChange[]) => void) {
      listeners.push(listener);
    },
  };
  return feed;
}

function clients(count: number): StoredChange[] {
  return Array.from({ length: count }, (_, index) => ({ clientId: `client ${index}` }));
}

test('a message names all changes of a turn; when there are more than 100, or one has no name, it is of any change', async (t) => {
  const feed = createFeed();
  const here = new CacheInvalidation(feed);
  for (const [announced, message] of [
    [clients(1), clients(1)],
    [clients(100), clients(100)],
    [clients(101), []],
    [[undefined], []],
    [[...clients(2), undefined], []],
  ] as const) {
    for (const change of announced) here.announce(change);
    await here.announced();
    t.deepEqual(feed.sent.splice(0), [message]);
  }
});

test('what is announced while a message is on its way is in the next one', async (t) => {
  const feed = createFeed();
  const here = new CacheInvalidation(feed);
  here.announce({ clientId: 'a' });
  here.announce({ userId: 'b' });
  await Promise.resolve();
  here.announce({ grantId: 'c' });
  here.announce({ tokenId: 'd' });
  await here.announced();
  t.deepEqual(feed.sent, [
    [{ clientId: 'a' }, { userId: 'b' }],
    [{ grantId: 'c' }, { tokenId: 'd' }],
  ]);
});

test('other nodes forget what a message names, or all; a message that is lost stops none of the next ones', async (t) => {
  const feed = createFeed();
  const [here, there] = [new CacheInvalidation(feed), new CacheInvalidation(feed)];
  const forgotten: (StoredChange | undefined)[] = [];
  there.add((what) => void forgotten.push(what));
  await there.subscribe();
  feed.isBroken = true;
  here.announce({ clientId: 'lost' });
  await here.announced();
  feed.isBroken = false;
  here.announce({ clientId: 'a' });
  here.announce({ userId: 'b' });
  await here.announced();
  here.announce();
  await here.announced();
  t.deepEqual(forgotten, [{ clientId: 'a' }, { userId: 'b' }, undefined]);
});

test('a node forgets at once what it announces, with and without a feed', (t) => {
  for (const here of [new CacheInvalidation(), new CacheInvalidation(createFeed())]) {
    const forgotten: (StoredChange | undefined)[] = [];
    here.add((what) => void forgotten.push(what));
    here.announce({ clientId: 'a' });
    here.announce();
    t.deepEqual(forgotten, [{ clientId: 'a' }, undefined]);
  }
});
