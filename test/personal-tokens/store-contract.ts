import type { Storage } from '../../lib/contracts/index.ts';
import { HOUR, LOOKALIKES, NOW } from '../storage/rows.ts';
import { atOnce, onlyOneOf } from '../storage/store-tests.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from '../storage/store-tests.ts';
import { personalTokenStore } from '../../lib/features/personal-tokens/store.ts';
import type { NewPersonalTokenRow, PersonalTokenStore } from '../../lib/features/personal-tokens/types.ts';

export const aPersonalToken = (fields: Partial<NewPersonalTokenRow> = {}): NewPersonalTokenRow => ({
  id: 'personal-1',
  hash: 'personal-hash-1',
  userId: 'ann',
  name: 'Nightly import',
  resource: undefined,
  scopes: ['schools:read'],
  permissions: undefined,
  createdAt: NOW,
  expiresAt: NOW + 30 * 24 * HOUR,
  sequence: 0,
  ...fields,
});

export const personalTokensOf = async (storage: Storage): Promise<PersonalTokenStore> =>
  storage.store('personalTokens', personalTokenStore);

const BOUND = { limit: 3, now: NOW };
const HASH = aPersonalToken().hash;

export function personalTokenContract(register: StorageTest): void {
  const test = (
    title: string,
    run: (t: Assertions, tokens: PersonalTokenStore, storage: Storage) => Promise<void>,
  ): void => register(title, async (t, storage) => run(t, await personalTokensOf(storage), storage));

  test('personal tokens: found by hash and id, and listed newest first, compared exactly', async (t, tokens) => {
    const row = aPersonalToken({
      id: 'Id',
      hash: 'Id',
      userId: 'Id',
      name: `it's "mine" 🎒`,
      scopes: ['a:b'],
    });
    const { hash: _hash, sequence: _sequence, ...rest } = row;
    const stored = { ...rest, lastUsedAt: undefined, lastUsedFrom: undefined };
    t.true(await tokens.insert(row, BOUND));
    t.deepEqual(await tokens.findByHash('Id'), stored);
    t.deepEqual(await tokens.find('Id'), stored);
    const newer = {
      id: 'new',
      hash: 'new',
      userId: 'Id',
      createdAt: NOW + 1,
      resource: 'https://api.example',
    };
    t.true(await tokens.insert(aPersonalToken({ ...newer, scopes: undefined, permissions: [] }), BOUND));
    t.deepEqual(
      (await tokens.list('Id', NOW)).map(({ id, permissions, scopes }) => ({ id, permissions, scopes })),
      [
        { id: 'new', permissions: [], scopes: undefined },
        { id: 'Id', permissions: undefined, scopes: ['a:b'] },
      ],
    );
    for (const other of [...LOOKALIKES, 'I\0d', 'x'.repeat(5000)]) {
      t.is(await tokens.findByHash(other), undefined, other);
      t.is(await tokens.find(other), undefined, other);
      t.false(await tokens.delete(other), other);
      t.deepEqual(await tokens.list(other, NOW), [], other);
    }
  });

  test('personal tokens: of sixty inserts at once, no more succeed than the limit allows', async (t, tokens) => {
    const inserted = await atOnce(60, async (index) =>
      tokens.insert(aPersonalToken({ id: `${index}`, hash: `${index}` }), { limit: 7, now: NOW }),
    );
    t.is(inserted.filter(Boolean).length, 7);
    const listed = await tokens.list('ann', NOW);
    t.is(listed.length, 7);
    const other = { limit: 7, now: NOW };
    t.true(await tokens.insert(aPersonalToken({ id: 'b', hash: 'b', userId: 'bob' }), other));
    t.true(await tokens.delete(listed[0]!.id));
    t.true(await tokens.insert(aPersonalToken({ id: 'again', hash: 'again' }), other));
    t.false(await tokens.insert(aPersonalToken({ id: 'more', hash: 'more' }), other));
  });

  test('personal tokens: an expired one is found, not listed, takes no place, and is pruned', async (t, tokens, storage) => {
    t.true(await tokens.insert(aPersonalToken({ expiresAt: NOW + HOUR }), { limit: 1, now: NOW }));
    t.is((await tokens.findByHash(HASH))?.expiresAt, NOW + HOUR);
    t.deepEqual(await tokens.list('ann', NOW + HOUR), []);
    const later = aPersonalToken({ id: 'later', hash: 'later', expiresAt: NOW + 2 * HOUR });
    t.true(await tokens.insert(later, { limit: 1, now: NOW + HOUR }));
    while ((await storage.prune(NOW + 3 * HOUR, 100)) > 0);
    t.is(await tokens.find('later'), undefined);
  });

  test('personal tokens: ended with their user and with all, also one that is inserted afterwards', async (t, tokens, storage) => {
    for (const end of [{ userId: 'ann' }, { all: true }] as const) {
      const sequence = await storage.revocations.latestSequence();
      const before = aPersonalToken({ id: 'before', hash: 'before', sequence });
      t.true(await tokens.insert(before, BOUND));
      await storage.revocations.revokeAllOf({ userId: 'bob' });
      t.is((await tokens.find('before'))?.id, 'before');
      await storage.revocations.revokeAllOf(end);
      await tokens.insert(aPersonalToken({ id: 'late', hash: 'late', sequence }), BOUND);
      for (const name of ['before', 'late']) {
        t.is(await tokens.find(name), undefined);
        t.is(await tokens.findByHash(name), undefined);
      }
      t.deepEqual(await tokens.list('ann', NOW), []);
      await begin(storage);
      t.deepEqual(
        (await tokens.list('ann', NOW)).map(({ id }) => id),
        ['new'],
      );
      await tokens.delete('new');
    }
  });

  test('personal tokens: one of many deletions at once deletes', async (t, tokens) => {
    await tokens.insert(aPersonalToken(), BOUND);
    await onlyOneOf(t, 10, async () => tokens.delete(aPersonalToken().id));
    t.false(await tokens.recordUse(aPersonalToken().id, { at: NOW, address: '192.0.2.1', network: 'n' }));
    t.is(await tokens.findByHash(HASH), undefined);
  });

  test('personal tokens: recordUse keeps the latest use, and one of many is the first from a network', async (t, tokens) => {
    const { id } = aPersonalToken();
    await tokens.insert(aPersonalToken(), BOUND);
    const use = { at: NOW + 5, address: '192.0.2.1', network: '192.0.2.0/24' };
    await onlyOneOf(t, 8, async () => tokens.recordUse(id, use));
    t.false(await tokens.recordUse(id, { ...use, at: NOW + 1, address: '192.0.2.9' }));
    const found = await tokens.find(id);
    t.deepEqual([found?.lastUsedAt, found?.lastUsedFrom], [NOW + 5, '192.0.2.1']);
    for (let index = 0; index < 25; index += 1)
      t.true(await tokens.recordUse(id, { ...use, network: `${index}` }));
    t.false(await tokens.recordUse(id, { ...use, network: '24' }));
    t.true(await tokens.recordUse(id, { ...use, network: '0' }));
  });
}

/** Inserts a token that began after the latest end. */
async function begin(storage: Storage): Promise<void> {
  const sequence = await storage.revocations.latestSequence();
  await (
    await personalTokensOf(storage)
  ).insert(aPersonalToken({ id: 'new', hash: 'new', sequence }), { ...BOUND, limit: 1 });
}
