import { passTime } from '../harness/clock.ts';

import test from '../harness/test.ts';

import { createDeliveryPlaces } from '../../lib/outbox/delivery-places.ts';
import type { DeliveryPlaces, PlacedDelivery } from '../../lib/outbox/delivery-places.ts';

type Due = Parameters<DeliveryPlaces['take']>[0];

let ids = 0;

/** A delivery at a client, on a host of its own unless one is given. */
function due(receiverId: string, ownerId?: string, host = `${receiverId}.example`): Due {
  ids += 1;
  return { id: `${ids}`, receiverId, ownerId, uri: `https://${host}/logout` };
}

/** Takes places for deliveries, until there is none. */
function fill(places: DeliveryPlaces, next: (index: number) => Due): readonly PlacedDelivery[] {
  const taken: PlacedDelivery[] = [];
  for (;;) {
    const place = places.take(next(taken.length));
    if (!place) return taken;
    taken.push(place);
  }
}

const QUICK = { isConfirmed: true, seconds: 0.1 };
const LATE = { isConfirmed: true, seconds: 1.1 };
const REFUSED = { isConfirmed: false, seconds: 0.1 };

test('a receiver has two places, an owner eight, a host four, those of no owner all', (t) => {
  const places = createDeliveryPlaces();
  t.deepEqual(places.leftOut(), { receiverIds: [], ownerIds: [], owned: false });
  const [first] = fill(places, () => due('a'));
  t.deepEqual(places.leftOut().receiverIds, ['a']);
  t.is(fill(places, (index) => due(`b${index}`, 'ann')).length, 8);
  t.deepEqual(places.leftOut().ownerIds, ['ann']);
  t.is(fill(places, (index) => due(`c${index}`, `owner ${index}`, 'apps.example')).length, 4);
  // Another port is the same host.
  t.is(places.take(due('d', 'bob', 'apps.example:8443')), undefined);
  t.deepEqual(places.leftOut().receiverIds.toSorted(), ['a', 'c4', 'd']);
  t.is(fill(places, (index) => due(`e${index}`, undefined, 'apps.example')).length, 128 - 14);
  t.true(places.isFull());
  first!.leave(QUICK);
  t.false(places.isFull());
  t.truthy(places.take(due('a')));
});

test('those with owners have half of the places together, and of these the slow ones a quarter', (t) => {
  const places = createDeliveryPlaces();
  const client = (index: number): Due => due(`a${index}`, `owner ${index}`);
  const taken = fill(places, client);
  t.is(taken.length, 64);
  t.true(places.leftOut().owned);
  for (const { leave } of taken) leave(LATE);
  t.false(places.leftOut().owned);
  t.is(fill(places, client).length, 16);
  t.is(places.leftOut().receiverIds.length, 64, 'all that were slow');
  t.truthy(places.take(due('other', 'ann')));
});

test('those of the platform that were slow have a quarter of its places, until they are quick again', (t) => {
  const places = createDeliveryPlaces();
  const client = (index: number): Due => due(`a${index}`);
  for (const { leave } of fill(places, client)) leave(LATE);
  const slow = fill(places, client);
  t.is(slow.length, 32);
  t.is(places.leftOut().receiverIds.length, 128);
  t.truthy(places.take(due('other')));
  for (const { leave } of slow) leave(QUICK);
  t.is(fill(places, client).length, 32 + 32);
  // What was not sent says nothing.
  const again = createDeliveryPlaces();
  for (const { leave } of fill(again, client)) leave();
  t.is(fill(again, client).length, 128);
});

test.serial(
  'a host may leave sixty attempts without a confirmation in five minutes, and one owner twelve',
  (t) => {
    const places = createDeliveryPlaces();
    /** How many attempts of owners a host refuses, one after the other. */
    const refuse = (ownerId: string | undefined, host = 'apps.example'): number => {
      for (let count = 0; count < 100; count += 1) {
        const place = places.take(due(`of ${ownerId}`, ownerId, host));
        if (!place) return count;
        place.leave(REFUSED);
      }
      return Infinity;
    };
    t.deepEqual(
      ['a', 'a', 'b', 'c'].map((owner) => refuse(owner)),
      [12, 0, 12, 12],
    );
    t.deepEqual(places.leftOut().receiverIds.toSorted(), ['of a', 'of b', 'of c']);
    t.is(refuse('a', 'other.example'), 12);
    t.is(refuse(undefined), Infinity, 'the platform answers for it');
    passTime(200);
    // What is confirmed does not count.
    for (let count = 0; count < 100; count += 1) places.take(due('of d', 'd', 'apps.example'))!.leave(QUICK);
    t.deepEqual(
      ['d', 'e', 'f'].map((owner) => refuse(owner)),
      [12, 12, 0],
    );
    passTime(101);
    t.false(places.leftOut().receiverIds.includes('of a'), 'counted from the first one on');
    t.deepEqual(
      ['a', 'f'].map((owner) => refuse(owner)),
      [12, 12],
    );
  },
);
