import { setTimeout as wait } from 'node:timers/promises';

import { StorageError } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

/** Wraps each call of a storage; `name` is the method, such as `grants.redeem`. */
export type Around = (name: string, call: () => Promise<unknown>) => Promise<unknown>;

/** A storage whose calls are wrapped. */
export function around(storage: Storage, what: Around): Storage {
  return wrap(storage, '', what);
}

function wrap<T extends object>(target: T, prefix: string, what: Around): T {
  return new Proxy(target, {
    get(object, property) {
      const member: unknown = Reflect.get(object, property);
      const name = prefix + String(property);
      if (typeof member === 'function' && name === 'store')
        return (store: string, make: never) =>
          wrap(Reflect.apply(member, object, [store, make]) as object, `${store}.`, what);
      // It returns no promise.
      if (name === 'ends.onWritten') return member;
      if (typeof member === 'function') {
        return (...given: unknown[]) =>
          what(name, async () => Reflect.apply(member, object, given) as Promise<unknown>);
      }
      return typeof member === 'object' && member !== null ? wrap(member, `${name}.`, what) : member;
    },
  });
}

/** A storage that fails where a test breaks it. */
export interface BreakableStorage {
  readonly storage: Storage;
  /** What fails: methods such as `grants.redeem`, stores such as `grants`, or `*` for all. */
  readonly broken: Set<string>;
}

/** @param error - what it throws @default as that of a database that cannot be reached */
export function breakable(
  storage: Storage = memoryStorage(),
  error: Error = new StorageError('connect ECONNREFUSED postgres://app:password@db/app'),
): BreakableStorage {
  const broken = new Set<string>();
  return {
    storage: around(storage, async (name, call) => {
      if (['*', name, name.split('.')[0]!].some((one) => broken.has(one))) throw error;
      return call();
    }),
    broken,
  };
}

/** A storage that waits a few milliseconds before and after each call, as a database on another machine does. */
export function slow(storage: Storage): Storage {
  return around(storage, async (_name, call) => {
    await wait(2);
    const result = await call();
    await wait(2);
    return result;
  });
}

/** A storage whose calls can be paused, so that a test decides which of two requests reads or writes first. */
export interface PausableStorage {
  readonly storage: Storage;
  /** Pauses calls of a method until `count` of them wait, and then resumes all of them. */
  readonly gather: (name: string, count: number) => void;
  /** Pauses the next call of a method; `reached` resolves when it waits. */
  readonly pause: (name: string) => { readonly reached: Promise<void>; readonly resume: () => void };
}

export function pausable(storage: Storage): PausableStorage {
  const pauses = new Map<string, () => Promise<void>>();
  return {
    storage: around(storage, async (name, call) => {
      await pauses.get(name)?.();
      return call();
    }),
    gather(name, count) {
      const all = Promise.withResolvers<void>();
      let waiting = 0;
      pauses.set(name, async () => {
        waiting += 1;
        if (waiting === count) {
          pauses.delete(name);
          all.resolve();
        }
        return all.promise;
      });
    },
    pause(name) {
      const reached = Promise.withResolvers<void>();
      const resumed = Promise.withResolvers<void>();
      pauses.set(name, async () => {
        pauses.delete(name);
        reached.resolve();
        return resumed.promise;
      });
      return { reached: reached.promise, resume: resumed.resolve };
    },
  };
}
