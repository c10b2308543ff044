import type { Storage } from './contracts.ts';
import type { KeyRing } from './engine/key-ring.ts';
import type { Chore } from './maintenance.ts';
import type { ResolvedOptions } from './options.ts';
import { pruneExpired, RESTS } from './prune.ts';

/** What a server does from time to time: it follows the keys of the other nodes, makes new ones, and removes what has expired. */
export function choresOf(
  { keyRotation, pruneInterval, revocationLag }: ResolvedOptions,
  {
    keyDelay,
    keyRing,
    storage,
  }: {
    /** In seconds, until a new key signs. */
    readonly keyDelay: number;
    readonly keyRing: KeyRing;
    readonly storage: Pick<Storage, 'prune'>;
  },
): readonly Chore[] {
  return [
    { name: 'read keys', every: revocationLag, run: () => keyRing.reload() },
    {
      name: 'rotate keys',
      every: Math.min(keyRotation, 3600),
      run: () => keyRing.rotateOlderThan(keyRotation, keyDelay),
    },
    {
      name: 'prune',
      every: pruneInterval,
      run: (signal) => pruneExpired(storage, { signal }, RESTS.ofServer),
    },
  ];
}
