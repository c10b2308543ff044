import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { people } from '../harness/platform.ts';
import { idJag, lastReason, present, startTrusted } from './identity-provider.ts';
import type { TrustedPlatform } from './identity-provider.ts';

onEachDatabase(
  'the end of an app, or of all, while its assertion is being verified wins: the first, and one after an end',
  async (t, _database, address) => {
    let ended: { readonly clientId: string } | { readonly all: true } | undefined;
    const platform: TrustedPlatform = await startTrusted(
      {
        idp: {
          async findUser() {
            if (ended) await platform.auth.revoke(ended);
            return people().all[0];
          },
        },
      },
      { storage: knexStorage(address) },
    );
    await using _stops = platform;
    const app = await platform.registerApp();
    const ask = async (): Promise<number> => {
      const { status } = await present(platform, app, await idJag(platform, app));
      return status;
    };
    for (const target of [{ clientId: app.client.id }, { all: true }] as const) {
      ended = target;
      t.is(await ask(), 400);
      t.is(await lastReason(platform), 'the user, or the app, was ended meanwhile');
      t.deepEqual((await platform.auth.userGrants.list('1')).clients, []);
      ended = undefined;
      t.is(await ask(), 200, 'the next assertion begins');
      await platform.auth.revoke(target);
    }
  },
);

test('an assertion from before an end stays used when another one has begun anew', async (t) => {
  await using platform = await startTrusted();
  const app = await platform.registerApp();
  const [first, second] = [await idJag(platform, app), await idJag(platform, app)];
  t.is((await present(platform, app, first)).status, 200);
  await platform.auth.revoke({ userId: '1' });
  t.is((await present(platform, app, second)).status, 200);
  t.is((await present(platform, app, first)).status, 400);
  t.is(await lastReason(platform), 'it was used before');
});
