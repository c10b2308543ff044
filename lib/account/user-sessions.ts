import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import type { AuditLog, AuditOrigin, Storage, UserSessions } from '../contracts/index.ts';

/** Makes the function that finds the login sessions of a user, with the origin of the request that asks for them. */
export function createUserSessions({
  audit,
  storage,
}: {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly storage: Pick<Storage, 'confirm' | 'sessions' | 'userData'>;
}): (userId: string, origin?: AuditOrigin) => UserSessions {
  return function userSessionsOf(userId, origin) {
    const record = (): void => audit.record({ type: 'logout', userId }, origin);

    return {
      async list() {
        const found = await storage.userData.sessions(userId, { now: now(), limit: MOST + 1 });
        return { sessions: found.slice(0, MOST), moreSessions: found.length > MOST };
      },
      async end(id) {
        const hasEnded = await confirmAbsence(storage, storage.sessions.end(id, userId));
        if (hasEnded) record();
        return hasEnded;
      },
      async endOthers(kept) {
        let ended = await storage.sessions.endOthers(userId, kept, now());
        await confirmAbsence(storage, Promise.resolve(ended > 0));
        for (; ended > 0; ended -= 1) record();
      },
    };
  };
}

// Those that are listed: a program that keeps no cookies has a session for each login.
const MOST = 50;
