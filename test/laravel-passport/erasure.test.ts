import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { issue, SECRET } from './laravel.ts';
import { moveIn, startLaravel } from './moved-platform.ts';

onEachDatabase(
  'an export stores no consent of Passport, and a token there brings back no user who was erased',
  async (t, _database, address) => {
    await using laravel = await startLaravel('11', { options: { readOnly: true } });
    await using platform = await moveIn(laravel, { storage: knexStorage(address) });
    const { auth, users } = platform;
    const issuedAt = Math.floor(Date.now() / 1000) - 60;
    const old = { clientId: 7, userId: 42, issuedAt } as const;
    const [used, unused] = [await issue(laravel.database, old), await issue(laravel.database, old)];
    const ofOther = await issue(laravel.database, { ...old, userId: 7 });
    const exported = async (user: string): Promise<[number, number]> => {
      const { consents, grants } = await auth.userData.export(user);
      return [consents.length, grants.length];
    };
    t.deepEqual(await exported('42'), [0, 0]);
    t.is((await platform.api('/identity', used.accessToken)).status, 200);
    t.deepEqual(await exported('42'), [1, 1]);

    const [user] = users.all.splice(
      users.all.findIndex(({ id }) => id === '42'),
      1,
    );
    await auth.userData.erase('42');
    for (const isAgain of [false, true]) {
      if (isAgain) users.all.push(user!);
      for (const { accessToken, refreshToken } of [used, unused]) {
        t.is((await platform.api('/identity', accessToken)).status, 401);
        const { body } = await platform.token({
          grant_type: 'refresh_token',
          client_id: '7',
          client_secret: SECRET,
          refresh_token: refreshToken,
        });
        t.is(body.error, 'invalid_grant');
      }
      t.deepEqual(await auth.userGrants.list('42'), { clients: [], sessions: [], moreSessions: false });
      t.deepEqual(await exported('42'), [0, 0]);
    }
    t.is((await platform.api('/identity', ofOther.accessToken)).status, 200);
  },
);
