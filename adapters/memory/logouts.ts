import type {
  Grant,
  LogoutDelivery,
  LogoutNotice,
  LogoutStore,
  Seconds,
  StoredSession,
} from '../../lib/contracts/index.ts';
import { changeRow, copy } from './tables.ts';
import type { GrantRow, Tables } from './tables.ts';

/** Clients that have to be told that users were signed out. */
export function logoutStore({ clients, logouts }: Pick<Tables, 'clients' | 'logouts'>): LogoutStore {
  const newestFirst = (isSelected: (row: LogoutDelivery) => boolean): LogoutDelivery[] =>
    [...logouts.values()]
      .filter(isSelected)
      .toSorted((a, b) => b.createdAt - a.createdAt || (b.id < a.id ? -1 : 1));
  return {
    async take(attempt, { except, leasedUntil, limit, now, perClient }) {
      const counts = new Map<string, number>();
      const isLeftOut = new Set(except);
      const taken = [...logouts.values()]
        .filter(({ clientId, dueAt = Infinity }) => dueAt <= now && !isLeftOut.has(clientId))
        .toSorted((a, b) => a.dueAt! - b.dueAt! || (a.id < b.id ? -1 : 1))
        .filter(({ clientId }) => {
          const count = (counts.get(clientId) ?? 0) + 1;
          counts.set(clientId, count);
          return count <= perClient;
        })
        .slice(0, limit)
        .map((row) => Object.assign(copy(row), { attempt, dueAt: leasedUntil, attempts: row.attempts + 1 }));
      for (const row of taken) logouts.set(row.id, row);
      return taken.map((row) =>
        Object.assign(copy(row), { uri: clients.get(row.clientId)?.client.backchannelLogoutUri }),
      );
    },
    async finish(attempts, { answeredAt, dueAt, error }) {
      for (const { attempt, id } of attempts)
        changeRow(logouts, id, (row) => row.attempt === attempt && { answeredAt, dueAt, error });
    },
    async findLatest(clientId) {
      return copy(newestFirst((row) => row.clientId === clientId)[0]);
    },
    async listLatest(userId) {
      const first = Map.groupBy(
        newestFirst((row) => row.userId === userId),
        ({ clientId }) => clientId,
      );
      return [...first.values()].map(([latest]) => copy(latest!));
    },
  };
}

/** Marks grants as revoked. Returns the ids of those that were not. */
export function revokeGrants(
  tables: Tables,
  isSelected: (grant: Grant) => boolean,
  { at, notice }: { readonly at: Seconds; readonly notice: LogoutNotice | undefined },
): readonly string[] {
  const selected = [...tables.grants.values()].filter(({ grant }) => isSelected(grant));
  const live = selected.filter(({ grant }) => grant.revokedAt === undefined);
  // Where a client has revoked a grant itself, the user is still signed in.
  if (notice) endSignIns(tables, selected, notice);
  for (const row of live) row.grant = { ...row.grant, revokedAt: at };
  return live.map(({ grant }) => grant.id);
}

/** Signs a user out where the grants of a session have signed the user in. */
export function signOut(tables: Tables, { uid, userId }: StoredSession, notice: LogoutNotice): void {
  const signIns = [...tables.grants.values()].filter(
    ({ grant }) => grant.userId === userId && grant.sessionUid === uid,
  );
  endSignIns(tables, signIns, notice);
}

function endSignIns(tables: Tables, rows: readonly GrantRow[], notice: LogoutNotice): void {
  insertLogouts(tables, rows, notice);
  for (const row of rows) row.grant = { ...row.grant, sessionUid: undefined };
}

/** Stores which clients have to be told: of each session one delivery to a client that has a `backchannelLogoutUri`. */
function insertLogouts(
  { clients, logouts }: Tables,
  rows: readonly GrantRow[],
  { createdAt, expiresAt }: LogoutNotice,
): void {
  const deliveries = new Map<string, LogoutDelivery>();
  for (const { grant } of rows) {
    const { clientId, id, sessionUid, userId } = grant;
    if (sessionUid === undefined || clients.get(clientId)?.client.backchannelLogoutUri === undefined)
      continue;
    deliveries.set(JSON.stringify([sessionUid, clientId]), {
      id,
      clientId,
      userId,
      sessionUid,
      createdAt,
      dueAt: createdAt,
      attempts: 0,
      attempt: undefined,
      answeredAt: undefined,
      error: undefined,
      expiresAt,
    });
  }
  for (const delivery of deliveries.values()) logouts.set(delivery.id, delivery);
}
