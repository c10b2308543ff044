import { aRequest, HOUR, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function leaseContract(test: StorageTest): void {
  const leased = aRequest({ leasedUntil: NOW + 30 });
  const answer = { status: 200, body: '{}' };
  const callers = Array.from({ length: 100 }, (_, index) =>
    aRequest({ attempt: `attempt ${index}`, leasedUntil: NOW + 2 * HOUR, expiresAt: NOW + 48 * HOUR }),
  );

  test('idempotency: of a hundred callers after the end of a lease, one takes over', async (t, {
    idempotency,
  }) => {
    await idempotency.begin(leased, NOW);
    t.deepEqual(await idempotency.begin(callers[0]!, NOW + 29), leased, 'before its end');
    const found = await Promise.all(callers.map(async (caller) => idempotency.begin(caller, NOW + 30)));
    const winners = callers.filter((_, index) => found[index] === undefined);
    t.is(winners.length, 1);
    for (const one of found) t.deepEqual(one ?? winners[0], winners[0]);
  });

  test('idempotency: an attempt that was given up cannot end the one that took over', async (t, {
    idempotency,
  }) => {
    await idempotency.begin(leased, NOW);
    const second = callers[0]!;
    t.is(await idempotency.begin(second, NOW + 30), undefined);
    t.false(await idempotency.extend(leased, NOW + HOUR));
    t.false(await idempotency.finish(leased, answer));
    await idempotency.abandon(leased);
    t.deepEqual(await idempotency.begin(leased, NOW + 31), second);
    t.true(await idempotency.finish(second, answer));
    t.false(await idempotency.finish(leased, { status: 500, body: '' }));
    t.deepEqual(await idempotency.begin(leased, NOW + 31), { ...second, answer });
  });

  test('idempotency: extend keeps others from taking over', async (t, { idempotency }) => {
    await idempotency.begin(leased, NOW);
    t.true(await idempotency.extend(leased, NOW + 60));
    t.true(await idempotency.extend(leased, NOW + 60), 'the same again');
    t.deepEqual(await idempotency.begin(callers[0]!, NOW + 59), { ...leased, leasedUntil: NOW + 60 });
    t.is(await idempotency.begin(callers[0]!, NOW + 60), undefined);
  });

  test('idempotency: a lease that ended, and that nobody took over, can be extended', async (t, {
    idempotency,
  }) => {
    await idempotency.begin(leased, NOW);
    t.true(await idempotency.extend(leased, NOW + HOUR));
    t.is((await idempotency.begin(callers[0]!, NOW + 59))?.attempt, leased.attempt);
  });

  test('idempotency: after the answer there is no lease to extend or to take over', async (t, {
    idempotency,
  }) => {
    await idempotency.begin(leased, NOW);
    await idempotency.finish(leased, answer);
    t.false(await idempotency.extend(leased, NOW + HOUR));
    t.deepEqual(await idempotency.begin(callers[0]!, NOW + HOUR), { ...leased, answer });
  });

  test('idempotency: what has expired is begun anew by one of a hundred, whatever it was', async (t, {
    idempotency,
  }) => {
    await idempotency.begin({ ...leased, fingerprint: 'different', expiresAt: NOW + HOUR }, NOW);
    await idempotency.finish(leased, answer);
    t.deepEqual((await idempotency.begin(callers[0]!, NOW + HOUR))?.answer, answer);
    const found = await Promise.all(callers.map(async (caller) => idempotency.begin(caller, NOW + HOUR + 1)));
    const winners = callers.filter((_, index) => found[index] === undefined);
    t.is(winners.length, 1);
    for (const one of found) t.deepEqual(one ?? winners[0], winners[0]);
  });
}
