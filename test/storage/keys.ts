import { onlyOneOf, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';
import { aKey, HOUR, NOW } from './rows.ts';

export function keyContract(register: StorageTest): void {
  const test = testsOf(register, 'keys');

  test('keys: list returns all keys of one use, oldest generation first', async (t, keys) => {
    const second = aKey({ id: 'second', generation: 2 });
    const cookie = aKey({ id: 'cookie', use: 'cookie', retiresAt: NOW });
    for (const key of [second, aKey(), cookie]) t.true(await keys.insert(key));
    t.deepEqual(await keys.list('token'), [aKey(), second]);
    t.deepEqual(await keys.list('cookie'), [cookie]);
  });

  test('keys: insert returns false for a generation that exists already, and stores nothing', async (t, keys) => {
    await keys.insert(aKey());
    t.false(await keys.insert(aKey({ id: 'other' })));
    t.deepEqual(await keys.list('token'), [aKey()]);
  });

  test('keys: of twenty calls of insert for the same generation at once, exactly one returns true', async (t, keys) => {
    const winner = await onlyOneOf(t, 20, async (index) => keys.insert(aKey({ id: `node ${index}` })));
    t.deepEqual(await keys.list('token'), [aKey({ id: `node ${winner}` })]);
  });

  test('keys: retire sets retiresAt of one key', async (t, keys) => {
    const second = aKey({ id: 'second', generation: 2 });
    await keys.insert(aKey());
    await keys.insert(second);
    await keys.retire(aKey().id, NOW + 9);
    t.deepEqual(await keys.list('token'), [aKey({ retiresAt: NOW + 9 }), second]);
  });

  test('keys: retire keeps an earlier retiresAt, also of two calls at once', async (t, keys) => {
    await keys.insert(aKey());
    await keys.retire(aKey().id, NOW + 9);
    await keys.retire(aKey().id, NOW + HOUR);
    t.deepEqual(await keys.list('token'), [aKey({ retiresAt: NOW + 9 })]);
    await Promise.all([NOW + HOUR, 0, NOW].map(async (at) => keys.retire(aKey().id, at)));
    t.deepEqual(await keys.list('token'), [aKey({ retiresAt: 0 })]);
  });

  test('keys: replaceMaterial changes the material of one key, and nothing else', async (t, keys) => {
    const second = aKey({ id: 'second', generation: 2 });
    await keys.insert(aKey({ retiresAt: NOW }));
    await keys.insert(second);
    t.true(await keys.replaceMaterial(aKey().id, aKey().material, 'encrypted'));
    t.deepEqual(await keys.list('token'), [aKey({ retiresAt: NOW, material: 'encrypted' }), second]);
  });

  test('keys: replaceMaterial returns false, changing nothing, where the material is another one', async (t, keys) => {
    const stored = aKey({ material: 'Encrypted' });
    await keys.insert(stored);
    for (const other of ['encrypted', 'Encrypted ', 'Éncrypted', ''])
      t.false(await keys.replaceMaterial(stored.id, other, 'anew'), other);
    t.false(await keys.replaceMaterial('unknown', stored.material, 'anew'));
    t.deepEqual(await keys.list('token'), [stored]);
  });

  test('keys: of twenty calls of replaceMaterial for the same material at once, exactly one returns true', async (t, keys) => {
    await keys.insert(aKey());
    const winner = await onlyOneOf(t, 20, async (index) =>
      keys.replaceMaterial(aKey().id, aKey().material, `by node ${index}`),
    );
    t.deepEqual(await keys.list('token'), [aKey({ material: `by node ${winner}` })]);
  });
}
