import { aKey, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function keyContract(test: StorageTest): void {
  test('keys: list gives all of one use, oldest generation first', async (t, { keys }) => {
    const second = aKey({ id: 'second', generation: 2 });
    const cookie = aKey({ id: 'cookie', use: 'cookie', retiresAt: NOW });
    for (const key of [second, aKey(), cookie]) t.true(await keys.add(key));
    t.deepEqual(await keys.list('token'), [aKey(), second]);
    t.deepEqual(await keys.list('cookie'), [cookie]);
  });

  test('keys: a generation that is there already is not added', async (t, { keys }) => {
    await keys.add(aKey());
    t.false(await keys.add(aKey({ id: 'other' })));
    t.deepEqual(await keys.list('token'), [aKey()]);
  });

  test('keys: of many nodes that add the same generation at once, one wins', async (t, { keys }) => {
    const nodes = Array.from({ length: 20 }, (_, index) => aKey({ id: `node ${index}` }));
    const added = await Promise.all(nodes.map(async (key) => keys.add(key)));
    t.deepEqual(
      await keys.list('token'),
      nodes.filter((_, index) => added[index]),
    );
    t.is(added.filter(Boolean).length, 1);
  });

  test('keys: retire', async (t, { keys }) => {
    const second = aKey({ id: 'second', generation: 2 });
    await keys.add(aKey());
    await keys.add(second);
    await keys.retire(aKey().id, NOW + 9);
    t.deepEqual(await keys.list('token'), [aKey({ retiresAt: NOW + 9 }), second]);
  });
}
