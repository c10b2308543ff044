import { randomUUID } from 'node:crypto';

import { knexStorage } from 'koa-gatehouse/adapters/knex';
import type { Storage } from 'koa-gatehouse';

import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aRefreshToken,
  aSecret,
  aSession,
  NOW,
} from '../../test/storage/rows.ts';
import { DAY } from '../../lib/contracts/duration.ts';
import type { RegistrationPlaces } from '../../lib/features/agents/types.ts';
import { aRegistered, registrationsOf } from '../../test/agents/store-contract.ts';
import type { GaleraCluster } from './galera-cluster.ts';
import type { Finding } from './report.ts';

/** Storages that start at the same moment on different members, on an empty database. */
export async function migrateAtOnce(cluster: GaleraCluster, rounds: number): Promise<Finding> {
  let round = 0;
  return races(
    { what: 'six nodes migrate an empty database at once', count: rounds, atOnce: 1 },
    async () => {
      round += 1;
      const addresses = await cluster.createDatabase(`migrated_${round}`);
      const storages = [...addresses, ...addresses].map((address) => knexStorage(address));
      try {
        await Promise.all(storages.map(async (storage) => storage.migrate()));
        const pending = await Promise.all(storages.map(async (storage) => storage.pendingMigrations()));
        return pending.flat().length > 0 && `pending afterwards: ${pending.flat().join(', ')}`;
      } finally {
        await Promise.all(storages.map(async (storage) => storage.close()));
      }
    },
  );
}

/** An authorization on one member while the user disconnects the app on another: no grant may live afterwards. */
export async function disconnectDuringAuthorization(
  storages: readonly Storage[],
  count: number,
): Promise<Finding> {
  return races({ what: 'a user disconnects an app that is being authorized', count }, async (race) => {
    const [here, there, reader] = rotated(storages, race);
    const id = randomUUID();
    const consent = aConsent({ userId: id });
    await here.consents.add(consent);
    const [started] = await Promise.all([
      here.grants.insert(aGrant({ id, userId: id }), aCode({ id, grantId: id }), { consent }),
      disconnect(there, id),
    ]);
    const found = await reader.grants.find(id);
    if (!started) return found && 'a grant that was refused is there';
    return found?.revokedAt === undefined && 'a live grant without its consent';
  });
}

/** A sign-in on one member while the login session ends on another: the client must be told, and its code be refused. */
export async function endSessionDuringSignIn(storages: readonly Storage[], count: number): Promise<Finding> {
  const [{ clients, ends }] = rotated(storages, 0);
  const client = aClient({ id: randomUUID(), backchannelLogoutUri: 'https://told.example/' });
  await clients.insert(client, []);
  await ends.read('race', ['sign_in'], Number.MAX_SAFE_INTEGER);
  const started = new Set<string>();
  const finding = await races(
    { what: 'a login session ends in which a user signs in', count },
    async (race) => {
      const [here, there, reader] = rotated(storages, race);
      const id = randomUUID();
      await here.sessions.insert(aSession({ id, uid: id, userId: id }));
      const grant = aGrant({ id, userId: id, clientId: client.id, sessionUid: id });
      const [isStarted] = await Promise.all([
        here.grants.insert(grant, aCode({ id, grantId: id }), { sessionId: id }),
        there.sessions.end(id),
      ]);
      if (isStarted) started.add(id);
      const redeemed = await reader.grants.redeem({ kind: 'code', id }, { sessionUid: id });
      return redeemed.outcome !== 'gone' && `the code is ${redeemed.outcome}`;
    },
  );
  const page = { now: Number.MAX_SAFE_INTEGER - 1, leasedUntil: Number.MAX_SAFE_INTEGER, limit: 256 };
  const taken = new Set<string | undefined>();
  for (let found = await ends.take('race', page); found.length > 0; found = await ends.take('race', page))
    for (const { sessionUid } of found) taken.add(sessionUid);
  return {
    ...finding,
    broken: [
      ...finding.broken,
      ...[...started].filter((id) => !taken.has(id)).map(() => 'the client is not told'),
      ...[...taken]
        .filter((id) => id === undefined || !started.has(id))
        .map(() => 'the client of a refused grant is told'),
    ],
  };
}

/**
 * A user ends on one member and then a client on another, many at once. A reader must find both in this order, each once; and of three
 * readers at once, on a member each, one must get each.
 */
export async function readEndsOfAllMembers(storages: readonly Storage[], count: number): Promise<Finding> {
  const [{ ends }] = rotated(storages, 0);
  for (const reader of ['in order', 'at once'])
    await ends.read(reader, ['user', 'client'], Number.MAX_SAFE_INTEGER);
  const written: string[] = [];
  const finding = await races({ what: 'ends of all members are read, in order', count }, async (race) => {
    const [here, there] = rotated(storages, race);
    const id = randomUUID();
    await here.revocations.revokeAllOf({ userId: id });
    await there.revocations.revokeAllOf({ clientId: id });
    written.push(`user ${id}`, `client ${id}`);
    return undefined;
  });
  const page = { now: Number.MAX_SAFE_INTEGER - 1, leasedUntil: Number.MAX_SAFE_INTEGER, limit: 50 };
  const take = async (storage: Storage, reader: string): Promise<string[]> => {
    const taken: string[] = [];
    for (;;) {
      const found = await storage.ends.take(reader, page);
      if (found.length === 0) return taken;
      taken.push(...found.map(({ kind, value }) => `${kind} ${value}`));
      await storage.ends.done(found);
    }
  };
  const inOrder = await take(storages[1]!, 'in order');
  const atOnce = (await Promise.all(storages.map(async (storage) => take(storage, 'at once')))).flat();
  const placeOf = new Map(inOrder.map((one, place) => [one, place]));
  const early = written.filter(
    (one) => one.startsWith('user ') && placeOf.get(one)! > placeOf.get(one.replace('user', 'client'))!,
  );
  const lost = written.filter((one) => !inOrder.includes(one) || !atOnce.includes(one));
  const twice = [inOrder, atOnce].filter((taken) => new Set(taken).size < taken.length);
  return {
    ...finding,
    broken: [
      ...finding.broken,
      ...early.map(() => 'an end is read before an earlier one'),
      ...lost.map(() => 'an end is lost'),
      ...twice.map(() => 'an end is taken twice'),
    ],
  };
}

/** As `createAuthorizedApps()` does. */
async function disconnect({ consents, grants }: Storage, userId: string): Promise<void> {
  const { clientId } = aConsent();
  await grants.revoke({ userId, clientId }, NOW);
  await consents.delete(userId, clientId);
  await grants.revoke({ userId, clientId }, NOW);
}

/** A new secret on one member while the client is deleted on another: no secret may be left without its client. */
export async function deleteDuringNewSecret(storages: readonly Storage[], count: number): Promise<Finding> {
  return races({ what: 'a client is deleted while it gets a secret', count }, async (race) => {
    const [here, there, reader] = rotated(storages, race);
    const id = randomUUID();
    await here.clients.insert(aClient({ id }), []);
    await Promise.all([here.clients.addSecret(id, aSecret()), there.clients.delete(id)]);
    // Registered again with the same id, the client must not have a secret of the old one.
    await reader.clients.insert(aClient({ id }), []);
    const secrets = (await reader.clients.find(id))?.secrets ?? [];
    return secrets.length > 0 && 'a new client has a secret of the deleted one';
  });
}

/** Apps register themselves on three members: no more than the limit may be stored. */
export async function registerAtOnce(storages: readonly Storage[], count: number): Promise<Finding> {
  let stored = 0;
  return races({ what: 'apps register at once for three places', count, atOnce: 1 }, async () => {
    const limit = stored + 3;
    const inserted = await Promise.all(
      [...storages, ...storages].map(async (storage) =>
        (await registrationsOf(storage)).insert(aRegistered(randomUUID()), places(limit)),
      ),
    );
    for (const displaced of inserted) if (displaced) stored += 1 - displaced.length;
    return stored !== limit && `${stored} apps instead of ${limit}`;
  });
}

/** An unused app is removed on one member while a user consents on another: the app stays with the consent, or neither does. */
export async function removeDuringConsent(storages: readonly Storage[], count: number): Promise<Finding> {
  return races({ what: 'an unused app gets its first consent', count, atOnce: 1 }, async (race) => {
    const [here, there, reader] = rotated(storages, race);
    const [registrations, others] = await Promise.all([here, there].map(registrationsOf));
    const id = randomUUID();
    const registered = aRegistered(id, { removableAt: NOW + 1, unusedAfter: DAY });
    await registrations!.insert(registered, places(Number.MAX_SAFE_INTEGER));
    const consent = aConsent({ clientId: id, updatedAt: NOW + 2 });
    const [isStored] = await Promise.all([
      registrations!.addConsent(consent),
      others!.deleteUnused(NOW + 2, 10),
    ]);
    const isKept = (await reader.clients.find(id)) !== undefined;
    const isConsented = (await reader.consents.find(consent.userId, id)) !== undefined;
    return (isKept !== isStored || isConsented !== isStored) && 'an app or a consent without the other';
  });
}

function places(limit: number): RegistrationPlaces {
  return { limit, perUser: 1, unusedSince: 0, now: NOW };
}

/** Each member must see at once what another one has answered. */
export async function readWhatWasWritten(storages: readonly Storage[], count: number): Promise<Finding> {
  return races(
    { what: 'a code and its refresh token are used on other members at once', count },
    async (race) => {
      const [here, there, elsewhere] = rotated(storages, race);
      const id = randomUUID();
      await here.grants.insert(aGrant({ id, userId: id }), aCode({ id, grantId: id }));
      const successor = aRefreshToken({ id, grantId: id });
      if (!(await there.grants.findCredential('code', id))) return 'the code is not found';
      const exchanged = await there.grants.redeem({ kind: 'code', id }, { successor });
      if (exchanged.outcome !== 'redeemed') return `the code is ${exchanged.outcome}`;
      const refreshed = await elsewhere.grants.redeem({ kind: 'refresh_token', id }, {});
      return refreshed.outcome !== 'redeemed' && `the refresh token is ${refreshed.outcome}`;
    },
  );
}

// What a storage says of an answer that ends too early.
const BROKE = /the connection broke before the answer was complete/;

/** Runs races, some of them at once. A run resolves to the breach of a rule, or to nothing; an error is a breach too. */
async function races(
  { what, count, atOnce = 10 }: { what: string; count: number; atOnce?: number },
  run: (race: number) => Promise<string | false | undefined>,
): Promise<Finding> {
  const broken: string[] = [];
  let unread = 0;
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) {
        const breach = await run(next++).catch((error: unknown) => {
          // A member that ends a transaction for one of another member may send an answer that ends too early: its caller gets a 503.
          if (!BROKE.test(String(error))) return told(error);
          unread += 1;
          return undefined;
        });
        if (typeof breach === 'string') broken.push(breach);
      }
    }),
  );
  if (unread > count / 20) broken.push(`${unread} answers ended too early`);
  return { what, count, broken, ...(unread > 0 && { note: `${unread} ended with a connection` }) };
}

function rotated<T>(all: readonly T[], by: number): [T, T, T] {
  const at = (offset: number): T => all[(by + offset) % all.length]!;
  return [at(0), at(1), at(2)];
}

function told(error: unknown): string {
  return error instanceof Error ? [error.message, error.cause].map(String).join(' ') : String(error);
}
