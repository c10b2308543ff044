import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { toMilliseconds } from '../contracts/duration.ts';
import type { Seconds } from '../contracts/index.ts';
import { createPlaces } from '../http/places.ts';
import type { Place } from '../http/places.ts';
import type { DueDelivery, LeftOut } from './deliveries.ts';

// How many attempts run at once on this node. One that is not answered has its places for five seconds.
const ALL: Place = { id: 'all', limit: 128 };

// The attempts at receivers for which the platform does not answer, of which a user can have any number, together.
const OWNED: Place = { id: 'owned', limit: 64 };

// Of these, those whose last answer took longer than `SLOW`; and those for which it answers.
const OWNED_SLOW: Place = { id: 'owned slow', limit: 16 };
const PLATFORM_SLOW: Place = { id: 'platform slow', limit: 32 };

const SLOW: Seconds = 1;

// So that one with many users does not take the places of the others.
const OF_RECEIVER = 2;

// Of the receivers of one owner, and of those of one host, for which the platform does not answer.
const OF_OWNER = 8;
const OF_HOST = 4;

// How many of the latter a host, and an owner at a host, may leave without a confirmation in a while: whoever names a host that is none of
// theirs has this server post to it.
const UNCONFIRMED = { of: 60, ofOwner: 12, within: 300 };

// Receivers of which a node knows that they have no place: their ids are the values of a statement.
const REMEMBERED = { max: 1000 };

/** An attempt that may begin. */
export interface PlacedDelivery {
  /** Gives the places back. Without a result nothing was sent. */
  leave(this: void, result?: { readonly isConfirmed: boolean; readonly seconds: Seconds }): void;
}

/**
 * Shares the attempts that a node makes at once: by receiver, by owner and by host, so that whoever has many receivers, or makes
 * them slow, delays nobody else's. Receivers for which the platform answers have places that no other can take.
 */
export interface DeliveryPlaces {
  /** Takes the places of an attempt. `undefined`: one of them is taken. */
  take(this: void, due: DueDelivery): PlacedDelivery | undefined;
  /** What has no place at this moment. */
  leftOut(this: void): LeftOut;
  /** Whether nothing has one. */
  isFull(this: void): boolean;
}

export function createDeliveryPlaces(): DeliveryPlaces {
  const places = createPlaces();
  const running = new Set<DueDelivery>();
  const slow = new LRUCache<string, { readonly isOwned: boolean }>(REMEMBERED);
  /** Receivers that had no place because of their host, with one of their deliveries. */
  const held = new LRUCache<string, DueDelivery>(REMEMBERED);
  const unconfirmed = new LRUCache<string, number>({
    ...CACHE_BOUND,
    ttl: toMilliseconds(UNCONFIRMED.within),
    // From the first one on.
    noUpdateTTL: true,
    perf: Date,
    ttlResolution: 0,
  });

  const isUsedUp = (due: DueDelivery): boolean =>
    countersOf(due).some(({ id, limit }) => (unconfirmed.get(id) ?? 0) >= limit);
  const isHostFull = (due: DueDelivery): boolean => places.isFull(placeOfHost(due)) || isUsedUp(due);

  function placesOf(due: DueDelivery): readonly Place[] {
    const { receiverId, ownerId } = due;
    const shared = [ALL, placeOfReceiver(receiverId)];
    if (ownerId === undefined) return slow.has(receiverId) ? [...shared, PLATFORM_SLOW] : shared;
    const owned = [...shared, OWNED, placeOfOwner(ownerId), placeOfHost(due)];
    return slow.has(receiverId) ? [...owned, OWNED_SLOW] : owned;
  }

  return {
    take(due) {
      const { receiverId, ownerId } = due;
      const isOwned = ownerId !== undefined;
      if (isOwned && isHostFull(due)) {
        held.set(receiverId, due);
        return undefined;
      }
      const leave = places(placesOf(due));
      if (!leave) return undefined;
      running.add(due);
      return {
        leave(result) {
          leave();
          running.delete(due);
          if (!result) return;
          if (result.seconds > SLOW) slow.set(receiverId, { isOwned });
          else slow.delete(receiverId);
          if (!isOwned || result.isConfirmed) return;
          for (const { id } of countersOf(due)) unconfirmed.set(id, (unconfirmed.get(id) ?? 0) + 1);
        },
      };
    },
    leftOut() {
      const all = [...running];
      const fullSlow = [...slow].filter(([, { isOwned }]) =>
        places.isFull(isOwned ? OWNED_SLOW : PLATFORM_SLOW),
      );
      return {
        receiverIds: unique([
          ...all.map(({ receiverId }) => receiverId).filter((id) => places.isFull(placeOfReceiver(id))),
          ...[...held].filter(([, due]) => isHostFull(due)).map(([id]) => id),
          ...fullSlow.map(([id]) => id),
        ]),
        ownerIds: unique(
          all.flatMap(({ ownerId }) =>
            ownerId !== undefined && places.isFull(placeOfOwner(ownerId)) ? ownerId : [],
          ),
        ),
        owned: places.isFull(OWNED),
      };
    },
    isFull: () => places.isFull(ALL),
  };
}

function placeOfReceiver(id: string): Place {
  return { id: `receiver ${id}`, limit: OF_RECEIVER };
}

function placeOfOwner(id: string): Place {
  return { id: `owner ${id}`, limit: OF_OWNER };
}

function placeOfHost(due: DueDelivery): Place {
  return { id: `host ${hostOf(due)}`, limit: OF_HOST };
}

function countersOf(due: DueDelivery): readonly Place[] {
  const host = hostOf(due);
  return [
    { id: host, limit: UNCONFIRMED.of },
    { id: `${host} ${due.ownerId}`, limit: UNCONFIRMED.ofOwner },
  ];
}

/** The host of the URI; the port is ignored. */
function hostOf({ uri = '' }: DueDelivery): string {
  return URL.parse(uri)?.hostname ?? '';
}

function unique(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)];
}
