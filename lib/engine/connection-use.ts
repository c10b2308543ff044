import { now } from '../clock.ts';
import type { ConsentStore, Logger } from '../contracts.ts';

// In seconds. "Last used" needs no more, and an app may act for a user many times a second.
const INTERVAL = 3600;

const MOST_REMEMBERED = 10_000;

// After a start nothing is remembered. The database is there for the requests first.
const MOST_UNDERWAY = 4;

/** Notes that a client acts for a user, once an hour. Never throws, never waits; a note may be lost. */
export type NoteUse = (userId: string, clientId: string) => void;

export function createNoteUse(consents: Pick<ConsentStore, 'touch'>, logger: Logger): NoteUse {
  const notedAt = new Map<string, number>();
  let underway = 0;

  return function noteUse(userId, clientId) {
    const key = `${clientId} ${userId}`;
    const at = now();
    if (at - (notedAt.get(key) ?? 0) < INTERVAL || underway >= MOST_UNDERWAY) return;
    const [oldest] = notedAt.keys();
    if (notedAt.size >= MOST_REMEMBERED && oldest !== undefined) notedAt.delete(oldest);
    // At the end again, so that the first is the oldest.
    notedAt.delete(key);
    notedAt.set(key, at);
    underway += 1;
    consents
      .touch(userId, clientId, at)
      .catch((error: unknown) => {
        logger.warn({ err: error, client_id: clientId }, 'the last use of a connected app was not noted');
      })
      .finally(() => {
        underway -= 1;
      });
  };
}
