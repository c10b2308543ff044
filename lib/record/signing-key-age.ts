import { now } from '../contracts/clock.ts';
import type { Seconds } from '../contracts/duration.ts';

/** The signing keys of a server, with their times. */
interface ListedKeys {
  list(): readonly { readonly status: string; readonly createdAt: Seconds; readonly activeAt: Seconds }[];
}

/** For how long the active signing key has been signing; `undefined` when no key is active. */
export function signingKeyAge(keys: ListedKeys): Seconds | undefined {
  const active = keys.list().find(({ status }) => status === 'active');
  // The first key of a storage has the `activeAt` 0.
  return active && now() - Math.max(active.createdAt, active.activeAt);
}
