import { aClient } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function transactionContract(test: StorageTest): void {
  test('transaction: gives what the work gives, and runs it once', async (t, storage) => {
    let runs = 0;
    const result = await storage.transaction(async () => {
      runs += 1;
      return 'done';
    });
    t.deepEqual({ result, runs }, { result: 'done', runs: 1 });
    t.is(await storage.transaction(async () => {}), undefined);
  });

  test('transaction: what the work throws comes out as it is', async (t, storage) => {
    for (const thrown of [
      new TypeError('mine'),
      Object.assign(new Error('busy'), { code: 'SQLITE_BUSY' }),
      'text',
    ]) {
      let runs = 0;
      const caught = await storage
        .transaction(async () => {
          runs += 1;
          throw thrown;
        })
        .catch((error: unknown) => ({ error }));
      t.deepEqual({ caught, runs }, { caught: { error: thrown }, runs: 1 });
    }
    await storage.clients.insert(aClient(), []);
    t.deepEqual((await storage.clients.find(aClient().id))?.client, aClient());
  });

  test('transaction: many at once, and other calls beside them', async (t, storage) => {
    const numbers = Array.from({ length: 30 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map(async (number) => {
        const [result] = await Promise.all([
          storage.transaction(async () => number),
          storage.clients.insert(aClient({ id: `${number}` }), []),
          storage.clients.find('unknown'),
        ]);
        return result;
      }),
    );
    t.deepEqual(results, numbers);
    t.is((await storage.clients.list({ limit: 100 })).length, 30);
  });
}
