import type { Grant } from './grants.ts';

/** The grants that {@link GrantStore.endUnused} ends. */
export interface UnusedGrants {
  readonly ended: readonly string[];
  /**
   * The ended grants that are not needed to tell the client of the end of a login session, because it has another grant of the session.
   */
  readonly needless: readonly string[];
}

/**
 * Chooses which grants of a user for a client end, in the same way for each storage.
 *
 * @param live - all grants that were not revoked, the last used one first
 */
export function unusedGrants(
  live: readonly Pick<Grant, 'id' | 'sessionUid'>[],
  kept: string,
  most: number,
): UnusedGrants {
  const others = live.filter(({ id }) => id !== kept);
  const ended = others.slice(most - 1);
  const endedIds = new Set(ended.map(({ id }) => id));
  const sessions = new Set(live.filter(({ id }) => !endedIds.has(id)).map(({ sessionUid }) => sessionUid));
  const needless = ended.filter(({ sessionUid }) => {
    if (sessionUid === undefined || sessions.has(sessionUid)) return true;
    sessions.add(sessionUid);
    return false;
  });
  return { ended: [...endedIds], needless: needless.map(({ id }) => id) };
}
