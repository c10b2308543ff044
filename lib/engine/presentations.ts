import type { ServerResponse } from 'node:http';
import { setImmediate as letOthersIn } from 'node:timers/promises';

import type { Credential } from '../contracts.ts';

// In milliseconds: how long after a redemption on another node a request still counts as simultaneous with it.
const LEEWAY_OF_OTHER_NODES = 1000;

// In milliseconds: how far apart the requests of a burst may come, on a node that answers faster than they are sent.
const GAP = 100;

/**
 * Tells a theft from a duplicate. A credential that comes back after it was spent has been stolen, or a client has sent
 * one request twice at once; the first must revoke the family (RFC 6749 section 4.1.2, RFC 9700 section 4.14.2), the
 * second must not log an honest user out.
 */
export interface Presentations {
  /** Notes that a request presents a credential, until its response is over. */
  begin(id: string, response: ServerResponse): void;
  /** Notes that this node has spent a credential, and waits for the requests that have arrived meanwhile to begin. */
  redeemed(id: string): Promise<void>;
  /**
   * Whether a spent credential is presented again rather than twice at once. Call it before {@link begin}.
   * @param grace - in seconds: how long after it was spent a credential may come back in any case
   */
  isReplay(credential: Pick<Credential, 'id' | 'consumedAt'>, grace: number): boolean;
}

export function createPresentations(): Presentations {
  const underway = new Map<string, number>();
  const redeemedHere = new Map<string, number>();

  function end(id: string): void {
    const left = (underway.get(id) ?? 1) - 1;
    if (left === 0) underway.delete(id);
    else underway.set(id, left);
  }

  return {
    begin(id, response) {
      const others = underway.get(id) ?? 0;
      underway.set(id, others + 1);
      response.once('close', () => {
        if (others === 0) end(id);
        else setTimeout(end, GAP, id).unref();
      });
    },
    async redeemed(id) {
      const at = Date.now();
      for (const [old, time] of redeemedHere) {
        if (at - time <= LEEWAY_OF_OTHER_NODES) break;
        redeemedHere.delete(old);
      }
      redeemedHere.set(id, at);
      await letOthersIn();
    },
    isReplay({ id, consumedAt }, grace) {
      if (consumedAt === undefined) return false;
      const age = Date.now() - consumedAt;
      if (age < grace * 1000) return false;
      // In a burst each request meets another one that is still under way, however late it comes itself.
      if (underway.has(id)) return false;
      return redeemedHere.has(id) || age >= LEEWAY_OF_OTHER_NODES;
    },
  };
}
