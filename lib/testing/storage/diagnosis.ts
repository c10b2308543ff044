import { now } from '../../clock.ts';
import { aCode, aGrant, aRecord, aRequest, aRevokedToken, aSession, HOUR, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function diagnosisContract(test: StorageTest): void {
  test('diagnose: tells the time of the database, if it has one', async (t, storage) => {
    const before = Date.now();
    const { clock = before } = await storage.diagnose();
    // The suite may run on another machine than the database.
    t.true(Math.abs(clock - before) < 12 * HOUR * 1000, `${clock}`);
    t.true(Number.isSafeInteger(clock));
  });

  test('diagnose: tells when the oldest row expired that could be pruned', async (t, storage) => {
    const { audit, credentials, idempotency, revocations, sessions } = storage;
    const oldest = async () => (await storage.diagnose()).oldestExpired;
    t.is(await oldest(), undefined);

    const soon = now() + HOUR;
    await sessions.insert(aSession({ id: 'live', uid: 'live', expiresAt: soon }));
    await audit.append([aRecord({ id: 'live' })], soon);
    t.is(await oldest(), undefined, 'nothing has expired');

    const expiresAt = NOW - 10;
    const steps = [
      async () => sessions.insert(aSession({ expiresAt })),
      async () => revocations.add(aRevokedToken({ expiresAt: expiresAt - 1 })),
      async () => audit.append([aRecord({ id: 'a' })], expiresAt - 2),
      async () => idempotency.begin(aRequest({ expiresAt: expiresAt - 3, leasedUntil: 0 }), 0),
      async () =>
        credentials.start(aGrant({ expiresAt: expiresAt - 5 }), aCode({ expiresAt: expiresAt - 4 })),
    ];
    for (const [index, step] of steps.entries()) {
      await step();
      t.is(await oldest(), expiresAt - index, `${index}`);
    }
    await storage.prune(NOW, 100);
    t.is(await oldest(), undefined);
  });
}
