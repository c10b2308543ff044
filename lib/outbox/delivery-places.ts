import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { toMilliseconds } from '../contracts/duration.ts';
import type { Seconds } from '../contracts/index.ts';
import { createPlaces } from '../http/places.ts';
import type { Place } from '../http/places.ts';
import type { DueDelivery, LeftOut } from './deliveries.ts';

// How many attempts run at once on this node. An attempt that gets no answer keeps its places for five seconds.
export const ALL: Place = { id: 'all', limit: 128 };

// All attempts at receivers for which the platform does not answer: one user can have any number of such receivers.
export const OWNED: Place = { id: 'owned', limit: 64 };

// Attempts at receivers whose last answer took longer than `SLOW`: the first limit is for receivers for which the platform does not
// answer, the second for those for which it does.
export const OWNED_SLOW: Place = { id: 'owned slow', limit: 16 };
export const PLATFORM_SLOW: Place = { id: 'platform slow', limit: 32 };

export const SLOW: Seconds = 1;

// Attempts at one receiver, so that a receiver with many users does not take the places of the others.
export const OF_RECEIVER = 2;

// Attempts at the receivers of one owner, and at the receivers on one host, for which the platform does not answer.
export const OF_OWNER = 8;
export const OF_HOST = 4;

// How many attempts a host, and one owner at a host, may leave unconfirmed within a time: an owner who names somebody else's host would
// otherwise have this server post to it without end.
export const UNCONFIRMED = { of: 60, ofOwner: 12, within: 300 };

// How many receivers without a place a node remembers: their ids are values of one statement.
const REMEMBERED = { max: 1000 };

/** An attempt that may begin. */
export interface PlacedDelivery {
  /** Gives the places back. Call it without a result when nothing was sent. */
  leave(this: void, result?: { readonly isConfirmed: boolean; readonly seconds: Seconds }): void;
}

/**
 * Shares the attempts that a node makes at once by receiver, by owner and by host, so that nobody can delay the deliveries of others by
 * having many receivers or slow ones. Receivers for which the platform answers have places that no other receiver can take.
 */
export interface DeliveryPlaces {
  /** Takes the places of an attempt; `undefined` when one of them is not free. */
  take(this: void, due: DueDelivery): PlacedDelivery | undefined;
  /** The deliveries for which there is no place at this moment. */
  leftOut(this: void): LeftOut;
  /** Whether there is no place for any delivery. */
  isFull(this: void): boolean;
}

export function createDeliveryPlaces(): DeliveryPlaces {
  const places = createPlaces();
  const running = new Set<DueDelivery>();
  const slow = new LRUCache<string, { readonly isOwned: boolean }>(REMEMBERED);
  /** Receivers that had no place because of their host, with one of their deliveries. */
  const withFullHost = new LRUCache<string, DueDelivery>(REMEMBERED);
  const unconfirmed = new LRUCache<string, number>({
    ...CACHE_BOUND,
    ttl: toMilliseconds(UNCONFIRMED.within),
    // The time begins with the first unconfirmed attempt.
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
        withFullHost.set(receiverId, due);
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
          ...[...withFullHost].filter(([, due]) => isHostFull(due)).map(([id]) => id),
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
