import { ERASED_USER, isAboutUser, withoutUser } from '../../lib/contracts/user-data.ts';
import type { UserDataStore, UserSession } from '../../lib/contracts/index.ts';
import { copy, endOfUser } from './tables.ts';
import type { Tables } from './tables.ts';

/** What is stored of one user, in all tables. */
export function userDataStore(tables: Tables): UserDataStore {
  const { assignments, audit, clients, consents, credentials, grants, logouts, personalTokens } = tables;
  const { sessions, soleUsers } = tables;

  function sessionsOf(userId: string, least: number): readonly UserSession[] {
    return [...sessions.values()]
      .filter((session) => session.userId === userId && session.sequence >= least)
      .map(({ expiresAt, id, payload }) => ({ id, expiresAt, createdAt: Number(payload['iat'] ?? 0) }));
  }

  return {
    async sessions(userId, now) {
      return sessionsOf(userId, endOfUser(tables, userId))
        .filter(({ expiresAt }) => expiresAt > now)
        .toSorted((a, b) => b.expiresAt - a.expiresAt || (a.id < b.id ? -1 : 1));
    },
    async read(userId, onPage) {
      onPage({ kind: 'sessions', rows: sessionsOf(userId, 0) });
      const ofUser = [...grants.values()].filter(({ grant }) => grant.userId === userId);
      onPage({ kind: 'grants', rows: ofUser.map(({ grant }) => copy(grant)) });
      const records = [...audit.values()].filter(({ record }) => isAboutUser(record, userId));
      onPage({ kind: 'audit', rows: records.map(({ record }) => copy(record)) });
    },
    async erase(userId, onBatch) {
      let changed = 0;
      const remove = <Row>(rows: Map<string, Row>, isOf: (row: Row, key: string) => boolean): void => {
        for (const [key, row] of rows) if (isOf(row, key) && rows.delete(key)) changed += 1;
      };
      const isOfUser = (row: { readonly userId: string }): boolean => row.userId === userId;
      remove(sessions, isOfUser);
      remove(personalTokens, isOfUser);
      remove(consents, isOfUser);
      remove(assignments, (_row, key) => key === userId);
      remove(logouts, (row) => isOfUser(row) && row.dueAt === undefined);
      remove(credentials, ({ grantId }) => grants.get(grantId)?.grant.userId === userId);
      remove(grants, ({ grant }) => isOfUser(grant));
      remove(soleUsers, (sole) => sole === userId);
      for (const [id, row] of clients) {
        const { disabledBy, ownerId } = row.client;
        if (ownerId !== userId && disabledBy !== userId) continue;
        const client = {
          ...row.client,
          ownerId: ownerId === userId ? ERASED_USER : ownerId,
          disabledBy: disabledBy === userId ? ERASED_USER : disabledBy,
        };
        clients.set(id, { ...row, client });
        changed += 1;
      }
      for (const [id, row] of logouts) {
        if (row.ownerId !== userId || row.userId === userId) continue;
        logouts.set(id, { ...row, ownerId: ERASED_USER });
        changed += 1;
      }
      for (const [id, row] of audit) {
        if (!isAboutUser(row.record, userId)) continue;
        audit.set(id, { ...row, record: withoutUser(row.record, userId) });
        changed += 1;
      }
      if (changed > 0) onBatch(changed);
    },
  };
}
