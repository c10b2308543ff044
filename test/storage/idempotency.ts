import type { IdempotencyStore, StoredRequest } from '../../lib/contracts/index.ts';
import { ActionError } from '../../lib/errors.ts';
import { aRequest, HOUR, LOOKALIKES, NOW } from './rows.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from './store-tests.ts';

export function idempotencyContract(register: StorageTest): void {
  const test = testsOf(register, 'idempotency');

  const another = aRequest({ attempt: 'attempt-2', leasedUntil: NOW + 40, expiresAt: NOW + HOUR });
  const answer = { status: 201, body: '{"data":{"id":7}}' };

  test('idempotency: the first call of begin stores the request, later ones return the stored one', async (t, idempotency) => {
    t.is(await idempotency.begin(aRequest(), NOW), undefined);
    t.deepEqual(await idempotency.begin(another, NOW), aRequest());
    t.true(await idempotency.finish(aRequest(), answer));
    t.deepEqual(await idempotency.begin(another, NOW + HOUR), aRequest({ answer }));
  });

  test('idempotency: of a hundred calls of begin at once, exactly one stores its request', async (t, idempotency) => {
    await oneBegins(t, idempotency, NOW, {});
  });

  test('idempotency: begin called again by the same attempt returns undefined again', async (t, idempotency) => {
    await idempotency.begin(aRequest(), NOW);
    t.is(await idempotency.begin(aRequest(), NOW), undefined);
    t.deepEqual(await idempotency.begin(another, NOW), aRequest());
  });

  test('idempotency: begin returns the stored request for the same key with another fingerprint', async (t, idempotency) => {
    const different = { ...another, fingerprint: 'different' };
    await idempotency.begin(aRequest(), NOW);
    t.deepEqual(await idempotency.begin(different, NOW), aRequest());
    // After the lease, only a retry of the same request may take over the unfinished one.
    t.deepEqual(await idempotency.begin(different, NOW + HOUR), aRequest());
    await idempotency.finish(aRequest(), answer);
    t.deepEqual(await idempotency.begin(different, NOW + HOUR), aRequest({ answer }));
  });

  test('idempotency: a second call of finish keeps the first answer', async (t, idempotency) => {
    await idempotency.begin(aRequest(), NOW);
    t.true(await idempotency.finish(aRequest(), answer));
    t.true(await idempotency.finish(aRequest(), { status: 500, body: '' }));
    t.deepEqual((await idempotency.begin(another, NOW))?.answer, answer);
  });

  test('idempotency: begin returns the stored answer unchanged, also a megabyte', async (t, idempotency) => {
    const bodies = ['', 'null', JSON.stringify(`'"\`\\ “ü” 🎒 ${'x'.repeat(1_000_000)}`)];
    for (const [index, body] of bodies.entries()) {
      const request = aRequest({ id: `request ${index}` });
      await idempotency.begin(request, NOW);
      t.true(await idempotency.finish(request, { status: 200, body }));
      t.deepEqual((await idempotency.begin({ ...another, id: request.id }, NOW))?.answer, {
        status: 200,
        body,
      });
    }
  });

  test('idempotency: finish stores the answer with the given transaction, and nothing if it rolls back', async (t, idempotency, storage) => {
    let canRollBack = false;
    await idempotency.begin(aRequest(), NOW);
    const failing = storage.transaction(async (handed) => {
      canRollBack = handed !== undefined;
      if (canRollBack) t.true(await idempotency.finish(aRequest(), answer, handed));
      throw new ActionError(409, 'changed_my_mind', 'Changed my mind.');
    });
    await t.throwsAsync(failing, { code: 'ERR_ACTION' });
    t.deepEqual(await idempotency.begin(another, NOW), aRequest(), 'not stored');

    await storage.transaction(async (handed) => {
      t.false(await idempotency.finish(another, answer, handed), 'of another attempt');
      t.true(await idempotency.finish(aRequest(), answer, handed));
    });
    t.deepEqual(await idempotency.begin(another, NOW), aRequest({ answer }));
  });

  test('idempotency: finish rejects a transaction that has ended, and stores nothing', async (t, idempotency, storage) => {
    await idempotency.begin(aRequest(), NOW);
    const over = await storage.transaction(async (handed) => handed);
    // A storage without transactions, such as the memory storage, hands over `undefined`, and has nothing to refuse.
    for (const wrong of over === undefined ? [] : [over, {}, null, 'text']) {
      await t.throwsAsync(idempotency.finish(aRequest(), answer, wrong), { code: 'ERR_STORAGE' });
    }
    t.deepEqual(await idempotency.begin(another, NOW), aRequest());
  });

  test('idempotency: abandon during the transaction that stores the answer keeps the answer', async (t, idempotency, storage) => {
    await idempotency.begin(aRequest(), NOW);
    let abandoned: Promise<void> | undefined;
    await storage.transaction(async (handed) => {
      await idempotency.finish(aRequest(), answer, handed);
      abandoned = idempotency.abandon(aRequest());
    });
    await abandoned;
    t.deepEqual(await idempotency.begin(another, NOW), aRequest({ answer }));
  });

  test('idempotency: abandon allows a new begin, and keeps a request that has an answer', async (t, idempotency) => {
    await idempotency.begin(aRequest(), NOW);
    await idempotency.abandon(another);
    t.deepEqual(
      await idempotency.begin(another, NOW),
      aRequest(),
      'abandon() of another attempt does nothing',
    );
    await idempotency.abandon(aRequest());
    await idempotency.abandon(aRequest());
    t.is(await idempotency.begin({ ...another, fingerprint: 'different' }, NOW), undefined);
    await idempotency.finish(another, answer);
    await idempotency.abandon(another);
    t.deepEqual((await idempotency.begin(aRequest(), NOW))?.answer, answer);
  });

  test('idempotency: after each abandon, exactly one of many calls of begin at once runs the request', async (t, idempotency) => {
    let running = 0;
    let most = 0;
    let begun = 0;
    await atOnce(20, async (index) => {
      const request = aRequest({ attempt: `attempt ${index}` });
      while ((await idempotency.begin(request, NOW)) !== undefined);
      begun += 1;
      running += 1;
      most = Math.max(most, running);
      await idempotency.extend(request, NOW + 60);
      running -= 1;
      await idempotency.abandon(request);
    });
    t.deepEqual({ begun, most }, { begun: 20, most: 1 });
  });

  test('idempotency: finish and extend return false for a request that is not stored', async (t, idempotency) => {
    t.false(await idempotency.finish(aRequest(), answer));
    t.false(await idempotency.extend(aRequest(), NOW + 60));
    await idempotency.abandon(aRequest());
    t.is(await idempotency.begin(aRequest(), NOW), undefined);
  });

  test('idempotency: ids and attempts are compared exactly', async (t, idempotency) => {
    const request = aRequest({ id: 'Id', attempt: 'Id' });
    await idempotency.begin(request, NOW);
    for (const id of LOOKALIKES) {
      t.is(await idempotency.begin(aRequest({ id }), NOW), undefined, id);
      t.false(await idempotency.finish({ id, attempt: 'Id' }, answer), id);
      t.false(await idempotency.finish({ id: 'Id', attempt: id }, answer), id);
      await idempotency.abandon({ id: 'Id', attempt: id });
    }
    t.deepEqual(await idempotency.begin({ ...another, id: 'Id' }, NOW), request);
  });
}

export function leaseContract(register: StorageTest): void {
  const test = testsOf(register, 'idempotency');

  const leased = aRequest({ leasedUntil: NOW + 30 });
  const answer = { status: 200, body: '{}' };
  const late = { leasedUntil: NOW + 2 * HOUR, expiresAt: NOW + 48 * HOUR };
  const second = aRequest({ attempt: 'second', ...late });

  test('idempotency: of a hundred calls of begin after the end of a lease, exactly one takes over', async (t, idempotency) => {
    await idempotency.begin(leased, NOW);
    t.deepEqual(await idempotency.begin(second, NOW + 29), leased, 'before its end');
    await oneBegins(t, idempotency, NOW + 30, late);
  });

  test('idempotency: an attempt whose lease ended cannot finish, extend or abandon the one that took over', async (t, idempotency) => {
    await idempotency.begin(leased, NOW);
    t.is(await idempotency.begin(second, NOW + 30), undefined);
    t.false(await idempotency.extend(leased, NOW + HOUR));
    t.false(await idempotency.finish(leased, answer));
    await idempotency.abandon(leased);
    t.deepEqual(await idempotency.begin(leased, NOW + 31), second);
    t.true(await idempotency.finish(second, answer));
    t.false(await idempotency.finish(leased, { status: 500, body: '' }));
    t.deepEqual(await idempotency.begin(leased, NOW + 31), { ...second, answer });
  });

  test('idempotency: extend prevents another attempt from taking over', async (t, idempotency) => {
    await idempotency.begin(leased, NOW);
    t.true(await idempotency.extend(leased, NOW + 60));
    t.true(await idempotency.extend(leased, NOW + 60), 'the same again');
    t.deepEqual(await idempotency.begin(second, NOW + 59), { ...leased, leasedUntil: NOW + 60 });
    t.is(await idempotency.begin(second, NOW + 60), undefined);
  });

  test('idempotency: extend works after the end of a lease that no other attempt took over', async (t, idempotency) => {
    await idempotency.begin(leased, NOW);
    t.true(await idempotency.extend(leased, NOW + HOUR));
    t.is((await idempotency.begin(second, NOW + 59))?.attempt, leased.attempt);
  });

  test('idempotency: a request with an answer has no lease to extend or to take over', async (t, idempotency) => {
    await idempotency.begin(leased, NOW);
    await idempotency.finish(leased, answer);
    t.false(await idempotency.extend(leased, NOW + HOUR));
    t.deepEqual(await idempotency.begin(second, NOW + HOUR), { ...leased, answer });
  });

  test('idempotency: of a hundred calls of begin for an expired request, exactly one stores a new one', async (t, idempotency) => {
    await idempotency.begin({ ...leased, fingerprint: 'different', expiresAt: NOW + HOUR }, NOW);
    await idempotency.finish(leased, answer);
    t.deepEqual((await idempotency.begin(second, NOW + HOUR))?.answer, answer);
    await oneBegins(t, idempotency, NOW + HOUR + 1, late);
  });
}

/** Of a hundred attempts to begin a request at once, one does, and the others find it. */
async function oneBegins(
  t: Assertions,
  idempotency: IdempotencyStore,
  at: number,
  fields: Partial<StoredRequest>,
): Promise<void> {
  const attempts = Array.from({ length: 100 }, (_, index) =>
    aRequest({ ...fields, attempt: `attempt ${index}` }),
  );
  const found = await Promise.all(attempts.map(async (attempt) => idempotency.begin(attempt, at)));
  const winners = attempts.filter((_, index) => found[index] === undefined);
  t.is(winners.length, 1);
  for (const one of found) t.deepEqual(one ?? winners[0], winners[0]);
}
