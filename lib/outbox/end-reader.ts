import { now } from '../contracts/clock.ts';
import { DAY, HOUR } from '../contracts/duration.ts';
import type { End, EndKind, EndStore, Seconds } from '../contracts/index.ts';

// How many ends a node takes at once, and how long it may take to handle them: one that has died by then handles them no more.
const MOST_TAKEN = 256;
const LEASE: Seconds = 60;

// What could not be handled is taken again after so long, on any node.
const AGAIN: Seconds = 10;

// So long ends are stored for a reader that does not say again that it reads: as long as its servers may be off.
const KEPT_FOR: Seconds = 2 * DAY;

/** Takes the ends of a reader from the outbox, on any number of nodes. */
export interface EndReader {
  /** Says that its ends have to be stored. Call it before the server takes requests: what ends earlier, nobody learns of. */
  register(this: void): Promise<void>;
  /**
   * Takes all that has ended and has it handled, in the order in which it was stored.
   *
   * @throws what `handle` has thrown. The ends that it was given are handled again after ten seconds
   */
  read(this: void): Promise<void>;
}

/**
 * Creates the reader of a feature.
 *
 * @param reader.name - of its own; it is stored
 * @param reader.handle - acts on ends, and removes them: by {@link EndStore.done}, or in a transaction of its own. It may be given an end
 * a second time
 */
export function createEndReader(
  ends: Pick<EndStore, 'read' | 'release' | 'take'>,
  {
    handle,
    kinds,
    name,
  }: {
    readonly name: string;
    readonly kinds: readonly EndKind[];
    readonly handle: (ends: readonly End[]) => Promise<void>;
  },
): EndReader {
  let registeredUntil = 0;

  async function register(): Promise<void> {
    const at = now();
    await ends.read(name, kinds, at + KEPT_FOR);
    registeredUntil = at + HOUR;
  }

  return {
    register,
    async read() {
      if (now() >= registeredUntil) await register();
      for (;;) {
        const at = now();
        const taken = await ends.take(name, { now: at, leasedUntil: at + LEASE, limit: MOST_TAKEN });
        if (taken.length > 0) await handleOrRelease(taken);
        if (taken.length < MOST_TAKEN) return;
      }
    },
  };

  async function handleOrRelease(taken: readonly End[]): Promise<void> {
    try {
      await handle(taken);
    } catch (error) {
      // Where that fails too, they are taken again when the lease ends.
      await ends.release(taken, now() + AGAIN).catch(() => {});
      throw error;
    }
  }
}
