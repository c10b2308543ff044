import type { Credential, Grant, GrantStore, Storage } from '../../lib/contracts/index.ts';
import { now } from '../../lib/contracts/clock.ts';
import { aCode, aGrant, aRefreshToken, HOUR, NOW, rowsOf } from './rows.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from './store-tests.ts';

export function redemptionContract(register: StorageTest): void {
  const test = testsOf(register, 'grants');

  const spent = { kind: 'code', id: aCode().id } as const;

  test('redeem: marks the credential as consumed and stores its successor', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };
    t.deepEqual(await grants.redeem(spent, exchange), { outcome: 'redeemed' });
    const { consumedAt, ...consumed } = (await grants.findCredential('code', spent.id))!.credential;
    t.deepEqual({ ...consumed, consumedAt: undefined }, aCode({ sealedSuccessor: 'sealed' }));
    t.true(consumedAt !== undefined);
    const successor = await grants.findCredential('refresh_token', aRefreshToken().id);
    t.deepEqual(rowsOf(successor), { credential: aRefreshToken(), grant: aGrant() });
  });

  test('findCredential: tells by its own clock since when a credential is spent, and until when it is valid', async (t, grants) => {
    const begun = now();
    await grants.insert(aGrant(), aCode({ expiresAt: begun + 60 }));
    const { expiresIn, spentFor: before } = (await grants.findCredential('code', spent.id))!;
    t.is(before, undefined);
    // Half a minute of tolerance for the clock of a database on another machine, besides the time that all this takes.
    const taken = (): number => now() - begun;
    t.true(expiresIn > 30 - taken() && expiresIn < 90, `${expiresIn}`);
    await grants.redeem(spent, {});
    const { spentFor } = (await grants.findCredential('code', spent.id))!;
    t.true(spentFor! >= 0 && spentFor! < (30 + taken()) * 1000, `${spentFor}`);
  });

  test('redeem: works without a successor, and returns "spent" the second time', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    t.deepEqual(await grants.redeem(spent, {}), { outcome: 'redeemed' });
    const again = await grants.redeem(spent, {});
    t.deepEqual(again, { outcome: 'spent', sealedSuccessor: undefined });
  });

  test('redeem: a second call returns the sealed successor of the first, and stores nothing', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    const [first, second] = [aRefreshToken({ id: 'first' }), aRefreshToken({ id: 'second' })];
    await grants.redeem(spent, { successor: first, sealedSuccessor: 'for the first' });
    const late = await grants.redeem(spent, {
      successor: second,
      sealedSuccessor: 'for the second',
    });
    t.deepEqual(late, { outcome: 'spent', sealedSuccessor: 'for the first' });
    t.is(await grants.findCredential('refresh_token', 'second'), undefined);
  });

  test('redeem: returns "gone" for an unknown credential and stores no successor', async (t, grants) => {
    const successor = aRefreshToken();
    t.deepEqual(await grants.redeem(spent, { successor }), { outcome: 'gone' });
    t.is(await grants.findCredential('refresh_token', successor.id), undefined);
  });

  test('redeem: does not consume the credential when the successor cannot be stored', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    await grants.insert(aGrant({ id: 'other' }), aRefreshToken({ grantId: 'other' }));
    const failed = grants.redeem(spent, { successor: aRefreshToken() });
    await t.throwsAsync(failed, { code: 'ERR_STORAGE' });
    t.deepEqual((await grants.findCredential('code', spent.id))?.credential, aCode());
    t.deepEqual(await grants.redeem(spent, {}), { outcome: 'redeemed' });
  });

  test('redeem: of a hundred calls at once, exactly one redeems the credential', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    await isRedeemedOnce(t, grants, spent);
  });

  test('redeem: with three rotations at once in each generation, one refresh token stays valid', async (t, grants) => {
    await grants.insert(aGrant(), aCode());
    let living: Pick<Credential, 'kind' | 'id'> = spent;
    for (let generation = 1; generation <= 10; generation += 1) {
      const successors = ['a', 'b', 'c'].map((caller) => aRefreshToken({ id: `${generation}${caller}` }));
      const presented = living;
      const redemptions = await Promise.all(
        successors.map(async (successor) => grants.redeem(presented, { successor })),
      );
      const winners = successors.filter((_, index) => redemptions[index]?.outcome === 'redeemed');
      t.is(winners.length, 1);
      living = winners[0] ?? living;
    }
    t.is((await grants.findCredential('refresh_token', living.id))?.credential.consumedAt, undefined);
  });

  test('findChain: finds a refresh token and those that followed it, up to the current one', async (t, grants) => {
    const ids = await rotate(grants, 4);
    await rotate(grants, 2, 'other family');
    for (const [place, first] of ids.entries()) {
      const chain = await grants.findChain(first, 10);
      t.deepEqual(
        chain.map(({ credential }) => credential.id),
        ids.slice(place),
      );
      t.deepEqual(
        chain.map(({ credential, spentFor }) => [credential.sealedSuccessor, spentFor === undefined]),
        chain.map((_, step) =>
          place + step < 4 ? [`sealed ${place + step + 1}`, false] : [undefined, true],
        ),
      );
      t.true(chain.every(({ expiresIn }) => expiresIn < 0));
    }
    t.is((await grants.findChain('unknown', 10)).length, 0);
  });

  test('findChain: finds at most as many as the limit', async (t, grants) => {
    const [first] = await rotate(grants, 4);
    for (const limit of [1, 3]) t.is((await grants.findChain(first!, limit)).length, limit);
  });

  test('findChain: ends at a refresh token that was pruned, and at one without a successor', async (t, grants, storage) => {
    const [first, second] = await rotate(grants, 3);
    await grants.redeem({ kind: 'refresh_token', id: '3' }, {});
    t.deepEqual((await grants.findChain(second!, 10)).at(-1)?.credential.id, '3');
    // The second one alone has expired: the lifetimes were lowered in the meantime.
    await grants.insert(aGrant({ id: 'short' }), aRefreshToken({ id: 'a', grantId: 'short' }));
    for (const [id, next, expiresAt] of [
      ['a', 'b', NOW - 1],
      ['b', 'c', NOW + HOUR],
    ] as const) {
      const successor = aRefreshToken({ id: next, grantId: 'short', expiresAt });
      await grants.redeem({ kind: 'refresh_token', id }, { successor, sealedSuccessor: 'sealed' });
    }
    await storage.prune(NOW, 100);
    t.deepEqual(
      (await grants.findChain('a', 10)).map(({ credential }) => credential.id),
      ['a'],
    );
    t.is((await grants.findChain(first!, 10)).length, 4);
  });

  test('findChain: finds nothing of a grant that was revoked, or whose user or client was ended', async (t, grants, {
    revocations,
  }) => {
    const families = ['revoked', 'of ann', 'of the client'];
    const firsts = [];
    for (const [index, id] of families.entries()) {
      const [first] = await rotate(grants, 2, id, { userId: `user ${index}`, clientId: `client ${index}` });
      firsts.push(first!);
    }
    for (const first of firsts) t.is((await grants.findChain(first, 10)).length, 3);
    await grants.revoke({ id: 'revoked' }, NOW);
    await revocations.revokeAllOf({ userId: 'user 1' });
    await revocations.revokeAllOf({ clientId: 'client 2' });
    for (const first of firsts) t.is((await grants.findChain(first, 10)).length, 0);
  });

  test('findChain: while the family is rotated, ends at a refresh token that is current', async (t, grants) => {
    const [first] = await rotate(grants, 0);
    for (let step = 1; step <= 10; step += 1) {
      const [, ...chains] = await Promise.all([
        rotateOnce(grants, 'grant-1', step),
        ...Array.from({ length: 5 }, async () => grants.findChain(first!, 20)),
      ]);
      for (const chain of chains) {
        t.is(chain.filter(({ spentFor }) => spentFor === undefined).length, 1);
        t.is(chain.at(-1)?.spentFor, undefined);
      }
    }
  });

  test('redeem: at the same time as a revocation of the grant, leaves no usable credential', async (t, _grants, storage) => {
    for (let round = 0; round < 20; round += 1) {
      const { outcome, revoked, found, isStored } = await redeemWhileRevoking(storage, `round ${round}`);
      t.true(outcome === 'redeemed' || outcome === 'gone', outcome);
      t.is(revoked, 1);
      t.deepEqual(found, [undefined, undefined]);
      // A redemption before the revocation has issued an access token, so the revoked grant is kept as long as the successor.
      t.true(outcome === 'gone' || isStored);
    }
  });
}

/** Inserts a grant with a refresh token, and rotates it. Resolves to the ids of its refresh tokens, the oldest one first. */
async function rotate(
  grants: GrantStore,
  times: number,
  grantId: string = aGrant().id,
  of: Partial<Pick<Grant, 'clientId' | 'userId'>> = {},
): Promise<readonly string[]> {
  await grants.insert(aGrant({ ...of, id: grantId }), aRefreshToken({ id: idOf(grantId, 0), grantId }));
  for (let step = 1; step <= times; step += 1) await rotateOnce(grants, grantId, step);
  return Array.from({ length: times + 1 }, (_, step) => idOf(grantId, step));
}

async function rotateOnce(grants: GrantStore, grantId: string, step: number): Promise<void> {
  const successor = aRefreshToken({ id: idOf(grantId, step), grantId });
  const spent = { kind: 'refresh_token', id: idOf(grantId, step - 1) } as const;
  await grants.redeem(spent, { successor, sealedSuccessor: `sealed ${step}` });
}

const idOf = (grantId: string, step: number): string =>
  grantId === aGrant().id ? `${step}` : `${step} of ${grantId}`;

/** Of a hundred calls at once, one redeems the credential, and the others learn of its successor. */
export async function isRedeemedOnce(
  t: Assertions,
  grants: GrantStore,
  spent: Pick<Credential, 'kind' | 'id'>,
): Promise<void> {
  const outcomes = await atOnce(100, async (caller) =>
    grants.redeem(spent, {
      successor: aRefreshToken({ id: `caller ${caller}` }),
      sealedSuccessor: `caller ${caller}`,
    }),
  );
  const winner = `caller ${outcomes.findIndex(({ outcome }) => outcome === 'redeemed')}`;
  const others = outcomes.filter(({ outcome }) => outcome !== 'redeemed');
  t.is(others.length, 99);
  for (const outcome of others) t.deepEqual(outcome, { outcome: 'spent', sealedSuccessor: winner });
  const saved = await atOnce(100, async (caller) =>
    grants.findCredential('refresh_token', `caller ${caller}`),
  );
  t.deepEqual(
    saved.flatMap((found) => found?.credential.id ?? []),
    [winner],
  );
}

async function redeemWhileRevoking(storage: Storage, grantId: string) {
  const { grants } = storage;
  const code = aCode({ id: `code of ${grantId}`, grantId });
  const successor = aRefreshToken({ id: `successor of ${grantId}`, grantId, expiresAt: NOW + 100 * HOUR });
  await grants.insert(aGrant({ id: grantId }), code);
  const [{ outcome }, revoked] = await Promise.all([
    grants.redeem(code, { successor }),
    grants.revoke({ id: grantId }, NOW),
  ]);
  const found = await Promise.all([
    grants.findCredential('code', code.id),
    grants.findCredential('refresh_token', successor.id),
  ]);
  await storage.prune(NOW + 99 * HOUR, 1000);
  const isStored = (await grants.find(grantId))?.revokedAt === NOW;
  return { outcome, revoked: revoked.length, found, isStored };
}
