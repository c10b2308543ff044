import test from '../harness/test.ts';
import { laravelPassportSource } from 'koa-gatehouse';

import { like } from '../harness/like.ts';
import { moveIn, startLaravel } from './moved-platform.ts';

const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000);

test('the doctor checks laravelPassport(): the date and the tables', async (t) => {
  await using laravel = await startLaravel('11');
  for (const [until, found] of [
    [inDays(60), []],
    [inDays(13), [{ code: 'passport_ends_soon', severity: 'warning' }]],
    [inDays(-1), [{ code: 'passport_ended', severity: 'warning' }]],
  ] as const) {
    await using platform = await moveIn(laravel, { passport: { until } });
    like(t, await platform.auth.doctor(), found);
  }

  const readOnly = { source: laravelPassportSource(laravel.database, { readOnly: true }) };
  await using reader = await moveIn(laravel, { passport: readOnly });
  like(t, await reader.auth.doctor(), [{ code: 'passport_read_only', severity: 'warning' }]);

  await using platform = await moveIn(laravel);
  const unreadable = [{ code: 'passport_unreadable', severity: 'error' }];
  await laravel.database.schema.renameTable('oauth_refresh_tokens', 'moved');
  like(t, await platform.auth.doctor(), unreadable);
  await laravel.database.schema.renameTable('moved', 'oauth_refresh_tokens');
  t.deepEqual(await platform.auth.doctor(), []);
  await laravel.database.destroy();
  like(t, await platform.auth.doctor(), unreadable);
});
