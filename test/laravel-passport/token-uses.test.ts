import test from '../harness/test.ts';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { PassportStore, PassportUse } from '../../lib/features/laravel-passport/types.ts';
import { like } from '../harness/like.ts';
import { until } from '../harness/until.ts';
import { issue, signPassport } from './laravel.ts';
import { moveIn, startLaravel } from './moved-platform.ts';

/** The stores of features, where another function records the uses. */
function watching(storage: Storage, record: PassportStore['record']): Storage['store'] {
  return ((name: string, make: never) => {
    const made = storage.store(name, make) as PassportStore;
    return name === 'passport' ? { ...made, record } : made;
  }) as Storage['store'];
}

test('a use that cannot be recorded fails no request, and is recorded later', async (t) => {
  await using laravel = await startLaravel('11');
  const { accessToken, id } = await issue(laravel.database, { clientId: 7, userId: 42 });
  const storage = memoryStorage();
  const recorded: PassportUse[] = [];
  let isAway = true;
  const platform = await moveIn(laravel, {
    storage: {
      ...storage,
      store: watching(storage, async (uses) => {
        if (isAway) throw new Error('away');
        recorded.push(...uses);
      }),
    },
  });
  t.is((await platform.api('/identity', accessToken)).status, 200);
  await until(() =>
    platform.logger.lines.some(
      ({ message }) => message === 'recording the last use of tokens of Passport failed',
    ),
  );
  t.is((await platform.api('/identity', accessToken)).status, 200);
  // Of no row: whoever makes tokens up adds nothing.
  t.is((await platform.api('/identity', signPassport({ jti: 'ab'.repeat(40) }))).status, 401);
  isAway = false;
  await platform[Symbol.asyncDispose]();
  like(t, recorded, [{ id, clientId: '7', kind: 'user' }]);
  t.is(recorded.length, 1);
});

test('the use of each kind of token is recorded once an hour', async (t) => {
  await using laravel = await startLaravel('11');
  const storage = memoryStorage();
  const recorded: PassportUse[] = [];
  const platform = await moveIn(laravel, {
    storage: {
      ...storage,
      store: watching(storage, async (uses) => void recorded.push(...uses)),
    },
  });
  const tokens = [
    await issue(laravel.database, { clientId: 7, userId: 42 }),
    await issue(laravel.database, { clientId: 7, userId: 42, name: 'my phone' }),
    await issue(laravel.database, { clientId: 7 }),
  ];
  for (const { accessToken } of [...tokens, ...tokens])
    t.is((await platform.api('/identity', accessToken)).status, 200);
  await platform[Symbol.asyncDispose]();
  t.deepEqual(
    recorded.map(({ id, kind }) => [id, kind]),
    [
      [tokens[0]!.id, 'user'],
      [tokens[1]!.id, 'personal'],
      [tokens[2]!.id, 'client'],
    ],
  );
});
