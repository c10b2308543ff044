import type { Storage } from '../../contracts/index.ts';
import type { Assertions, RegisterTest } from '../test-runner.ts';
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
 *
 * @example
 * import test from 'ava';
 * import { confirmationContract } from 'koa-gatehouse/testing';
 * confirmationContract(test, () => myReplicatedStorage());
 */
export function confirmationContract(
  test: RegisterTest,
  open: () => ConfirmedStorage | Promise<ConfirmedStorage>,
): void {
  test('a call that finds its change made already succeeds only when the change lasts', async (t) => {
    const { loseConfirmation, restoreConfirmation, storage } = await open();
    t.teardown(async () => storage.close());
    await storage.migrate();
    for (const { prepare } of CALLS) await prepare?.(storage);

    await loseConfirmation();
    for (const { call, name } of CALLS) {
      for (const time of ['once', 'twice', 'three times'])
        await isUnconfirmed(t, `${name}, called ${time}`, call(storage));
    }
    await restoreConfirmation();
    for (const { call, name, result } of CALLS) {
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

/** A call that is repeated until it succeeds. Each changes rows of its own. */
interface Call {
  readonly name: string;
  readonly prepare?: (storage: Storage) => Promise<unknown>;
  readonly call: (storage: Storage) => Promise<unknown>;
  /** The result of the repetition that succeeds. */
  readonly result: unknown;
}

const [REVOKED, OF_CLIENT, SPENT] = ['revoked', 'of-client', 'spent'].map((id) => ({
  grant: aGrant({ id, userId: id, clientId: id }),
  code: aCode({ id, grantId: id }),
}));

const ANSWER = { status: 200, body: '{}' };

const CALLS: readonly Call[] = [
  {
    name: 'grants.revoke({ id })',
    prepare: async ({ grants }) => grants.insert(REVOKED!.grant, REVOKED!.code),
    call: async ({ grants }) => grants.revoke({ id: 'revoked' }, NOW),
    result: [],
  },
  {
    name: 'grants.revoke({ userId, clientId })',
    prepare: async ({ grants }) => grants.insert(OF_CLIENT!.grant, OF_CLIENT!.code),
    call: async ({ grants }) => grants.revoke({ userId: 'of-client', clientId: 'of-client' }, NOW),
    result: [],
  },
  {
    name: 'revocations.revokeToken',
    call: async ({ revocations }) => revocations.revokeToken(aRevokedToken()),
    result: undefined,
  },
  {
    name: 'revocations.revokeAllOf',
    call: async ({ revocations }) => revocations.revokeAllOf({ userId: 'ended' }),
    result: undefined,
  },
  {
    name: 'grants.redeem',
    prepare: async ({ grants }) => grants.insert(SPENT!.grant, SPENT!.code),
    call: async ({ grants }) =>
      grants.redeem(SPENT!.code, {
        successor: aRefreshToken({ id: 'successor', grantId: 'spent' }),
        sealedSuccessor: 'sealed',
      }),
    result: { outcome: 'spent', sealedSuccessor: 'sealed' },
  },
  {
    name: 'consents.add',
    call: async ({ consents }) => consents.add(aConsent({ userId: 'bob' })),
    result: undefined,
  },
  {
    name: 'consents.delete',
    prepare: async ({ consents }) => consents.add(aConsent()),
    call: async ({ consents }) => consents.delete('ann', 'timetable'),
    result: false,
  },
  {
    name: 'sessions.delete',
    prepare: async ({ sessions }) => sessions.insert(aSession()),
    call: async ({ sessions }) => sessions.delete(aSession().id),
    result: undefined,
  },
  {
    name: 'clients.update',
    prepare: async ({ clients }) => clients.insert(aClient({ id: 'updated' }), []),
    call: async ({ clients }) => clients.update(aClient({ id: 'updated', disabled: true }), NOW),
    result: true,
  },
  {
    name: 'clients.deleteSecret',
    prepare: async ({ clients }) =>
      clients.insert(aClient(), [aSecret(), aSecret({ id: 'expiring', hash: 'expiring' })]),
    call: async ({ clients }) => clients.deleteSecret(aClient().id, aSecret().id),
    result: false,
  },
  {
    name: 'clients.expireSecret',
    call: async ({ clients }) => clients.expireSecret(aClient().id, 'expiring', NOW),
    result: undefined,
  },
  {
    name: 'clients.delete',
    prepare: async ({ clients }) => clients.insert(aClient({ id: 'deleted' }), []),
    call: async ({ clients }) => clients.delete('deleted'),
    result: false,
  },
  {
    name: 'clients.delete of a version',
    prepare: async ({ clients }) => clients.insert(aClient({ id: 'version' }), []),
    call: async ({ clients }) => clients.delete('version', NOW),
    result: false,
  },
  { name: 'keys.insert', call: async ({ keys }) => keys.insert(aKey()), result: false },
  {
    name: 'assignments.save',
    call: async ({ assignments }) => assignments.save('bob', { roles: ['registrar'], permissions: [] }),
    result: undefined,
  },
  {
    name: 'assignments.delete',
    prepare: async ({ assignments }) => assignments.save('ann', { roles: ['registrar'], permissions: [] }),
    call: async ({ assignments }) => assignments.delete('ann'),
    result: false,
  },
  {
    name: 'audit.append',
    call: async ({ audit }) => audit.append([aRecord({ id: 'a' }), aRecord({ id: 'b' })], NOW + HOUR),
    result: undefined,
  },
  {
    name: 'audit.append of many',
    call: async ({ audit }) => audit.append(MANY_RECORDS, NOW + HOUR),
    result: undefined,
  },
  {
    name: 'idempotency.finish',
    prepare: async ({ idempotency }) => idempotency.begin(aRequest(), NOW),
    call: async ({ idempotency }) => idempotency.finish(aRequest(), ANSWER),
    result: true,
  },
  {
    name: 'idempotency.begin of an answered request',
    call: async ({ idempotency }) => idempotency.begin(aRequest({ attempt: 'second' }), NOW),
    result: aRequest({ answer: ANSWER }),
  },
  { name: 'confirm', call: async (storage) => storage.confirm?.(), result: undefined },
];

const MANY_RECORDS = Array.from({ length: 600 }, (_, index) => aRecord({ id: `many ${index}` }));
