import { randomUUID } from 'node:crypto';

import test from 'ava';
import type { AuditRecord } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { createMetrics } from 'koa-gatehouse/metrics';

import { onEachEmptyDatabase } from '../adapters/databases.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { passTime } from '../harness/clock.ts';
import { issue, SECRET, signPassport } from '../passport/laravel.ts';
import { moveIn, startLaravel } from '../passport/moved-platform.ts';
import { gatehouse, gatehouseJson } from './gatehouse.ts';
import { row13 } from './passport-tables.ts';

const DAY = 86_400;

const day = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10);

onEachEmptyDatabase(
  'the status of Passport says by app which tokens were used, and when the last one ends',
  async (t, { client }, address) => {
    await using laravel = await startLaravel('13', { client, address });
    const { clientId, database } = laravel;
    await database('oauth_access_tokens').delete();
    await database('oauth_refresh_tokens').delete();
    const of = { clientId, userId: 42, expiresIn: DAY };
    const at = Math.floor(Date.now() / 1000);
    const user = await issue(database, of);
    const exchanged = await issue(database, of);
    const personal = await issue(database, { ...of, expiresIn: 30 * DAY, name: 'script' });
    const own = await issue(database, { clientId });
    // Of an app that is not imported, and of a revoked one.
    const [other, revoked] = [randomUUID(), randomUUID()];
    const code = { redirect_uris: ['https://app.example/cb'], grant_types: ['authorization_code'] };
    await database('oauth_clients').insert([
      row13({ ...code, id: other, name: 'Other' }),
      row13({ ...code, id: revoked, name: 'Revoked', revoked: true }),
    ]);
    await issue(database, { ...of, clientId: other, expiresIn: 90 * DAY });
    await issue(database, { ...of, clientId: revoked, expiresIn: 90 * DAY });

    const DATABASE_URL = `sqlite:${temporaryFile()}`;
    const events: AuditRecord[] = [];
    for (let node = 0; node < 2; node += 1) {
      await using platform = await moveIn(laravel, { storage: knexStorage(DATABASE_URL) });
      platform.auth.events.on('token_issued', (record) => events.push(record));
      const { register } = createMetrics(platform.auth);
      for (const token of [user, user, personal, own])
        t.is((await platform.api('/identity', token.accessToken)).status, 200);
      t.is((await platform.api('/identity', signPassport({ jti: 'ab'.repeat(40) }))).status, 401);
      const credentials = { client_id: clientId, client_secret: SECRET };
      const refresh = { grant_type: 'refresh_token', ...credentials, refresh_token: exchanged.refreshToken };
      t.is((await platform.token(refresh)).status, 200);
      t.is((await platform.token(refresh)).status, 200, 'again, within the grace');
      const used = await register.getSingleMetricAsString('gatehouse_passport_tokens_used_total');
      for (const kind of ['user', 'personal', 'client', 'refresh'])
        t.true(used.includes(`gatehouse_passport_tokens_used_total{kind="${kind}"} 1`), used);
    }
    // The audit log names the token that was exchanged.
    t.deepEqual(
      events.map((event) => 'server' in event && event.server),
      Array.from({ length: 4 }, () => 'passport'),
    );

    const words = ['passport', 'status', '--source', address];
    const status = await gatehouseJson(words, { DATABASE_URL });
    const used = { last_day: 1, last_week: 1 };
    t.like(status, { in_use: true, last_day: 4, last_week: 4, live: 5 });
    t.is(String(status['last_end']).slice(0, 10), day(at + 30 * DAY));
    const tokens = status['tokens'] as readonly Record<string, unknown>[];
    t.deepEqual(
      tokens.map(({ last_end: _lastEnd, name: _name, ...rest }) => rest),
      [
        { client_id: clientId, kind: 'user', ...used, live: 1 },
        { client_id: clientId, kind: 'personal', ...used, live: 1 },
        { client_id: clientId, kind: 'client', ...used, live: 1 },
        { client_id: clientId, kind: 'refresh', ...used, live: 2 },
      ],
    );
    const { output } = await gatehouse(words, { DATABASE_URL });
    t.regex(output, /access tokens of users +1 +1 +1 +\d{4}-/);
    t.true(
      output.includes(
        `The option passport is needed: tokens were used within a week. There are 5 live tokens, of which the last one ends on ${day(at + 30 * DAY)}.\n`,
      ),
      output,
    );
  },
);

test.serial('it says when the option passport can go', async (t) => {
  const address = `sqlite:${temporaryFile('laravel.sqlite')}`;
  await using laravel = await startLaravel('11', { address });
  const { database } = laravel;
  await database('oauth_access_tokens').delete();
  await database('oauth_refresh_tokens').delete();
  const DATABASE_URL = `sqlite:${temporaryFile()}`;
  const env = { DATABASE_URL, PASSPORT_DATABASE_URL: address };
  const platform = await moveIn(laravel, { storage: knexStorage(DATABASE_URL) });
  const none = 'No token of Passport is live: the option passport can go.\n';
  t.is((await gatehouse('passport status', env)).output, none);

  const { accessToken } = await issue(database, { clientId: 7, userId: 42, expiresIn: 30 * DAY });
  t.is((await platform.api('/identity', accessToken)).status, 200);
  await platform[Symbol.asyncDispose]();
  t.regex((await gatehouse('passport status', env)).output, /The option passport is needed/);

  passTime(8 * DAY);
  const { code, output } = await gatehouse('passport status', env);
  t.is(code, 0);
  t.regex(output, /No token of Passport was used within a week\. There are 2 live tokens, of which the last/);

  const without = await gatehouse('passport status', { DATABASE_URL });
  t.is(without.code, 2);
  t.regex(without.errors, /Give the database of the Laravel app: --source URL/);
});
