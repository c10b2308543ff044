import { now } from '../contracts/clock.ts';
import { DAY, HOUR } from '../contracts/duration.ts';
import type { End, EndKind, EndStore, Seconds } from '../contracts/index.ts';

// How many ends a node takes at once, and how long it may take to handle them. After that time, the node is taken to have died.
const MOST_TAKEN = 256;
const LEASE: Seconds = 60;

// After this time, any node takes ends again that could not be handled.
const AGAIN: Seconds = 10;

// For how long ends are stored for a reader that does not register again: for so long its servers may be off.
const KEPT_FOR: Seconds = 2 * DAY;

/** Takes the ends of a reader from the outbox, on any number of nodes. */
export interface EndReader {
  /**
   * Registers the reader, so that its ends are stored. Call it before the server takes requests: the reader does not learn of earlier
   * ends.
   */
  register(this: void): Promise<void>;
  /**
   * Takes all ends of the reader and has them handled, in the order in which they were stored.
   *
   * @throws what `handle` has thrown. The ends that it was given are handled again after ten seconds
   */
  read(this: void): Promise<void>;
}

/**
 * Creates the reader of a feature.
 *
 * @param reader.name - a name that no other reader has; it is stored
 * @param reader.handle - acts on ends and removes them, by {@link EndStore.done} or in a transaction of its own. It may get an end a
 * second time
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
      // When the release fails too, the ends are taken again after their lease.
      await ends.release(taken, now() + AGAIN).catch(() => {});
      throw error;
    }
  }
}
