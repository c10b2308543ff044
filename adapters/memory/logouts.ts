import type {
  Client,
  Grant,
  LogoutDelivery,
  LogoutNotice,
  LogoutStore,
  Seconds,
  StoredSession,
} from '../../lib/contracts/index.ts';
import { vouchedForBy } from '../../lib/contracts/trust.ts';
import { changeRow, copy } from './tables.ts';
import type { GrantRow, Tables } from './tables.ts';

/** Clients that have to be told that users were signed out. */
export function logoutStore({ clients, logouts }: Pick<Tables, 'clients' | 'logouts'>): LogoutStore {
  const newestFirst = (isSelected: (row: LogoutDelivery) => boolean): LogoutDelivery[] =>
    [...logouts.values()]
      .filter(isSelected)
      .toSorted((a, b) => b.createdAt - a.createdAt || (b.id < a.id ? -1 : 1));
  const uriOf = (clientId: string): string | undefined => clients.get(clientId)?.client.backchannelLogoutUri;
  return {
    async listDue({ except, limit, now }) {
      const [clientIds, ownerIds] = [new Set(except.clientIds), new Set(except.ownerIds)];
      const due = [...logouts.values()]
        .filter(({ dueAt = Infinity }) => dueAt <= now)
        .filter(({ clientId, ownerId }) => !clientIds.has(clientId) && !ownerIds.has(ownerId ?? ''))
        .filter(({ ownerId }) => ownerId === undefined || !except.owned)
        .toSorted(
          (a, b) =>
            Number(a.ownerId !== undefined) - Number(b.ownerId !== undefined) ||
            Number(a.attempts > 0) - Number(b.attempts > 0) ||
            a.dueAt! - b.dueAt!,
        );
      const first = new Map<string, LogoutDelivery>();
      for (const row of due) {
        const key = JSON.stringify([row.clientId, row.ownerId]);
        if (!first.has(key)) first.set(key, row);
      }
      return [...first.values()]
        .slice(0, limit)
        .map(({ clientId, id, ownerId }) => ({ id, clientId, ownerId, uri: uriOf(clientId) }));
    },
    async take(attempt, ids, { leasedUntil, now }) {
      return ids.flatMap((id) => {
        const isTaken = changeRow(
          logouts,
          id,
          ({ dueAt = Infinity }) => dueAt <= now && { attempt, dueAt: leasedUntil },
        );
        const row = isTaken ? copy(logouts.get(id)!) : undefined;
        return row ? [Object.assign(row, { uri: uriOf(row.clientId) })] : [];
      });
    },
    async finish(attempts, { answeredAt, dueAt, error }) {
      for (const { attempt, id } of attempts)
        changeRow(
          logouts,
          id,
          (row) =>
            row.attempt !== undefined &&
            row.attempt === attempt && {
              answeredAt,
              dueAt,
              error,
              attempt: undefined,
              attempts: row.attempts + 1,
            },
        );
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
    const client = clients.get(clientId)?.client;
    if (sessionUid === undefined || client?.backchannelLogoutUri === undefined) continue;
    deliveries.set(JSON.stringify([sessionUid, clientId]), {
      id,
      clientId,
      userId,
      sessionUid,
      createdAt,
      ownerId: answerableFor(client, userId),
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

/** See {@link LogoutDelivery.ownerId}. */
function answerableFor(client: Client, userId: string): string | undefined {
  const who = vouchedForBy(client);
  if (who === 'platform') return undefined;
  return who === 'nobody' ? userId : client.ownerId;
}
