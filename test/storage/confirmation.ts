import type { Storage } from '../../lib/contracts/index.ts';
import type { Assertions, RegisterTest } from '../../lib/testing/test-runner.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aKey,
  aRecord,
  aRefreshToken,
  aRequest,
  aRevokedToken,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from './rows.ts';

/** A storage of which a test can decide whether its changes are confirmed, such as by a synchronous standby. */
export interface ConfirmedStorage {
  readonly storage: Storage;
  /** From now on a change is made, but it is not known whether it lasts: its call throws `StorageError`. */
  loseConfirmation(this: void): Promise<void>;
  /** From now on changes are confirmed again, earlier ones included. */
  restoreConfirmation(this: void): Promise<void>;
}

/**
 * Registers the test of a storage that can say that a change was made and that it is not known whether the change lasts. A repeated
 * call finds nothing left to change: it has to throw too, until the change lasts.
 *
 * @param open - opens an empty storage, before any `migrate()`. The test closes it
 */
export function confirmationContract(
  test: RegisterTest,
  open: () => ConfirmedStorage | Promise<ConfirmedStorage>,
): void {
  test('a call that finds its change made already succeeds only when the change lasts', async (t) => {
    const { loseConfirmation, restoreConfirmation, storage } = await open();
    t.teardown(async () => storage.close());
    await storage.migrate();
    await prepare(storage);

    await loseConfirmation();
    for (const [name, , call] of CALLS) {
      for (const time of ['once', 'twice', 'three times'])
        await isUnconfirmed(t, `${name}, called ${time}`, call(storage));
    }
    await restoreConfirmation();
    for (const [name, result, call] of CALLS) {
      t.deepEqual(await call(storage), result, `${name}, when changes are confirmed again`);
    }
  });
}

async function isUnconfirmed(t: Assertions, name: string, call: Promise<unknown>): Promise<void> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: { readonly code?: unknown; readonly status?: unknown }) => ({
      code: error.code,
      status: error.status,
    }),
  );
  t.deepEqual(outcome, { code: 'ERR_STORAGE', status: 503 }, name);
}

/** Stores what the calls change. */
async function prepare(storage: Storage): Promise<void> {
  const { assignments, clients, consents, grants, idempotency, sessions } = storage;
  for (const id of ['revoked', 'of-client', 'spent'])
    await grants.insert(aGrant({ id, userId: id, clientId: id }), aCode({ id, grantId: id }));
  for (const id of ['updated', 'deleted', 'version']) await clients.insert(aClient({ id }), []);
  await clients.insert(aClient(), [aSecret(), aSecret({ id: 'expiring', hash: 'expiring' })]);
  await consents.add(aConsent());
  await sessions.insert(aSession());
  await assignments.save('ann', ASSIGNMENT);
  await idempotency.begin(aRequest(), NOW);
}

const ANSWER = { status: 200, body: '{}' };
const ASSIGNMENT = { roles: ['registrar'], permissions: [] };
const EXCHANGE = {
  successor: aRefreshToken({ id: 'successor', grantId: 'spent' }),
  sealedSuccessor: 'sealed',
};
const SPENT = { outcome: 'spent', sealedSuccessor: 'sealed' };
const OF_CLIENT = { userId: 'of-client', clientId: 'of-client' };
const RECORDS = [aRecord({ id: 'a' }), aRecord({ id: 'b' })];
const MANY_RECORDS = Array.from({ length: 600 }, (_, index) => aRecord({ id: `many ${index}` }));

/** A call that is repeated until it succeeds, and the result of the repetition that succeeds. */
type StorageCall = readonly [name: string, result: unknown, call: (storage: Storage) => Promise<unknown>];

/** Each changes rows of its own. */
const CALLS: readonly StorageCall[] = [
  ['grants.revoke({ id })', [], async ({ grants }) => grants.revoke({ id: 'revoked' }, NOW)],
  ['grants.revoke({ userId, clientId })', [], async ({ grants }) => grants.revoke(OF_CLIENT, NOW)],
  ['revocations.revokeToken', undefined, async (storage) => storage.revocations.revokeToken(aRevokedToken())],
  [
    'revocations.revokeAllOf',
    undefined,
    async ({ revocations }) => revocations.revokeAllOf({ userId: 'ended' }),
  ],
  ['grants.redeem', SPENT, async ({ grants }) => grants.redeem(aCode({ id: 'spent' }), EXCHANGE)],
  ['consents.add', undefined, async ({ consents }) => consents.add(aConsent({ userId: 'bob' }))],
  ['consents.delete', false, async ({ consents }) => consents.delete('ann', 'timetable')],
  ['sessions.delete', undefined, async ({ sessions }) => sessions.delete(aSession().id)],
  [
    'clients.update',
    true,
    async ({ clients }) => clients.update(aClient({ id: 'updated', disabled: true }), NOW),
  ],
  ['clients.deleteSecret', false, async ({ clients }) => clients.deleteSecret(aClient().id, aSecret().id)],
  [
    'clients.expireSecret',
    undefined,
    async ({ clients }) => clients.expireSecret(aClient().id, 'expiring', NOW),
  ],
  ['clients.delete', false, async ({ clients }) => clients.delete('deleted')],
  ['clients.delete of a version', false, async ({ clients }) => clients.delete('version', NOW)],
  ['keys.insert', false, async ({ keys }) => keys.insert(aKey())],
  ['assignments.save', undefined, async ({ assignments }) => assignments.save('bob', ASSIGNMENT)],
  ['assignments.delete', false, async ({ assignments }) => assignments.delete('ann')],
  ['audit.append', undefined, async ({ audit }) => audit.append(RECORDS, NOW + HOUR)],
  ['audit.append of many', undefined, async ({ audit }) => audit.append(MANY_RECORDS, NOW + HOUR)],
  ['idempotency.finish', true, async ({ idempotency }) => idempotency.finish(aRequest(), ANSWER)],
  [
    'idempotency.begin of an answered request',
    aRequest({ answer: ANSWER }),
    async ({ idempotency }) => idempotency.begin(aRequest({ attempt: 'second' }), NOW),
  ],
  ['confirm', undefined, async (storage) => storage.confirm()],
];
