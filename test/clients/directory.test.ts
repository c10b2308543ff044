import test from '../harness/test.ts';

import { createClientDirectory } from '../../lib/clients/directory.ts';
import type { StoredClient } from '../../lib/contracts/index.ts';
import { hashCredential } from '../../lib/keys/hash.ts';

const MOST = 10_000;

test('the directory caches 10,000 clients', async (t) => {
  const secret = 'a secret that was imported';
  let found = 0;
  const directory = createClientDirectory(
    {
      async find(id) {
        found += 1;
        const own = { id: `of ${id}`, hash: hashCredential(secret), createdAt: 0 };
        return { client: { id, source: 'manual' }, secrets: [own] } as unknown as StoredClient;
      },
      async rehashSecret() {
        return false;
      },
    },
    { hooks: [], maxAge: 3600, secretUsed() {}, sources: { on: new Map(), all: new Map() } },
  );
  const use = async (index: number): Promise<boolean> =>
    directory.verifySecret((await directory.find(`client ${index}`))!, secret, {
      checkAttempts() {},
      expired() {},
    });
  for (let index = 0; index < MOST; index += 1) t.true(await use(index));
  await use(0);
  t.is(found, MOST, 'the first is cached');
  await use(MOST);
  await use(0);
  t.is(found, MOST + 1, 'it was used after the second');
  await use(1);
  t.is(found, MOST + 2, 'the second is not cached');
});
