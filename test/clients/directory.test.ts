import test from 'ava';

import { createClientDirectory } from '../../lib/clients/directory.ts';
import type { StoredClient } from '../../lib/contracts/index.ts';
import { hashCredential } from '../../lib/keys/hash.ts';

const MOST = 10_000;

const logger = { debug() {}, info() {}, warn() {}, error() {} };

test('the directory caches 10,000 clients, and the last uses of as many secrets', async (t) => {
  const secret = 'a secret that was imported';
  const counts = { find: 0, touch: 0 };
  const directory = createClientDirectory(
    {
      async find(id) {
        counts.find += 1;
        const own = { id: `of ${id}`, hash: hashCredential(secret), createdAt: 0 };
        return { id, secrets: [own] } as unknown as StoredClient;
      },
      async rehashSecret() {
        return false;
      },
      async touchSecret() {
        counts.touch += 1;
      },
    },
    { maxAge: 3600, logger },
  );
  const use = async (index: number): Promise<boolean> =>
    directory.verifySecret(`client ${index}`, secret, () => {});
  for (let index = 0; index < MOST; index += 1) t.true(await use(index));
  await use(0);
  t.deepEqual(counts, { find: MOST, touch: MOST }, 'the first is cached');
  await use(MOST);
  await use(0);
  t.deepEqual(counts, { find: MOST + 1, touch: MOST + 1 }, 'it was used after the second');
  await use(1);
  t.deepEqual(counts, { find: MOST + 2, touch: MOST + 2 }, 'the second is not cached');
});
