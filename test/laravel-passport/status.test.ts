import { randomUUID } from 'node:crypto';

import test from '../harness/test.ts';
import type { AuditRecord } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { createMetrics } from 'koa-gatehouse/metrics';

import { onEachEmptyDatabase } from '../adapters/databases.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { passTime } from '../harness/clock.ts';
import { issue, row13, signPassport } from './laravel.ts';
import { moveIn, refresh, startLaravel } from './moved-platform.ts';
import { gateFile, gatehouse, gatehouseJson, migrated } from '../cli/gatehouse.ts';

const DAY = 86_400;

const day = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10);

onEachEmptyDatabase(
  'a dry run says how many live tokens move, and the status by app which were used, and when the last one ends',
  async (t, { client }, address) => {
    await using laravel = await startLaravel('13', { client, address });
    const { clientId, database } = laravel;
    await database('oauth_access_tokens').delete();
    await database('oauth_refresh_tokens').delete();
    const [revoked, admins, skipped, deleted] = Array.from({ length: 4 }, () => randomUUID());
    const code = { redirect_uris: ['https://app.example/cb'], grant_types: ['authorization_code'] };
    await database('oauth_clients').insert([
      row13({ ...code, id: revoked, name: 'Revoked', revoked: true }),
      row13({ ...code, id: admins, name: 'Admins', provider: 'admins' }),
      row13({ id: skipped, name: 'Implicit', grant_types: ['implicit'] }),
    ]);
    const at = Math.floor(Date.now() / 1000);
    const lastDay = day(at + 30 * DAY);
    const of = { clientId, userId: 42, expiresIn: DAY };
    const user = await issue(database, { ...of, scopes: ['orders:read', '*'] });
    const exchanged = await issue(database, of);
    const personal = await issue(database, { ...of, expiresIn: 30 * DAY, name: 'script' });
    const own = await issue(database, { clientId });
    // Neither one that has expired, nor a revoked one; and one whose access token was purged.
    await issue(database, { ...of, issuedAt: at - 2 * DAY });
    const ended = await issue(database, of);
    await database('oauth_access_tokens').where({ id: ended.id }).update({ revoked: true });
    await database('oauth_refresh_tokens').where({ id: ended.refreshId }).update({ revoked: true });
    const purged = await issue(database, of);
    await database('oauth_access_tokens').where({ id: purged.id }).delete();
    for (const other of [revoked, admins, skipped, deleted])
      await issue(database, { ...of, clientId: other!, expiresIn: 90 * DAY });

    const DATABASE_URL = await migrated();
    const words = ['client', 'import', '--from', 'laravel-passport', '--source', address];
    const { tokens } = await gatehouseJson<{ tokens: Record<string, unknown> }>(words, { DATABASE_URL });
    t.is(String(tokens['last_end']).slice(0, 10), lastDay);
    t.deepEqual(tokens['accepted'], { user: 2, personal: 1, client: 1, refresh: 4 });
    const refused = tokens['refused'] as readonly { readonly reason: string }[];
    t.deepEqual(
      refused.toSorted((a, b) => (a.reason < b.reason ? -1 : 1)),
      [
        { reason: 'the client is for users of another provider', count: 2 },
        { reason: 'the client is not imported', count: 2 },
        { reason: 'the client is revoked', count: 2 },
        { reason: 'the client was deleted', count: 2 },
      ],
    );
    t.deepEqual(tokens['undefined_scopes'], ['orders:read']);
    const gate = gateFile(`
      export const gate = defineGate({ permissions: { view: 'View' } });
      export const scopes = { 'orders:read': { description: 'See', permissions: ['view'] } };`);
    const checked = await gatehouseJson([...words, '--gate', gate], { DATABASE_URL });
    t.like(checked, { tokens: { undefined_scopes: [] } });
    const { output } = await gatehouse(words, { DATABASE_URL });
    for (const line of [
      'because those that are not defined permit nothing: orders:read.\n',
      `Live tokens that the feature laravelPassport() accepts: 2 access tokens of users, 1 personal access tokens, 1 access tokens of clients, 4 refresh tokens; the last one ends on ${lastDay}.\n`,
      'Live tokens that cannot move: 2, because the client is revoked.\n',
    ])
      t.true(output.includes(line), output);

    const events: AuditRecord[] = [];
    for (let node = 0; node < 2; node += 1) {
      await using platform = await moveIn(laravel, { storage: knexStorage(DATABASE_URL) });
      platform.auth.events.on('token_issued', (record) => events.push(record));
      const { register } = createMetrics(platform.auth);
      for (const token of [user, user, personal, own])
        t.is((await platform.api('/identity', token.accessToken)).status, 200);
      t.is((await platform.api('/identity', signPassport({ jti: 'ab'.repeat(40) }))).status, 401);
      // Again, within the grace.
      for (let count = 0; count < 2; count += 1)
        t.is((await refresh(platform, laravel, exchanged.refreshToken)).status, 200);
      const used = await register.getSingleMetricAsString('gatehouse_passport_tokens_used_total');
      for (const kind of ['user', 'personal', 'client', 'refresh'])
        t.true(used.includes(`gatehouse_passport_tokens_used_total{kind="${kind}"} 1`), used);
    }
    // The audit log names the token that was exchanged.
    t.deepEqual(
      events.map((event) => 'server' in event && event.server),
      Array.from({ length: 4 }, () => 'laravelPassport'),
    );

    const question = ['laravel-passport', 'status', '--source', address];
    const status = await gatehouseJson(question, { DATABASE_URL });
    t.like(status, { in_use: true, last_day: 4, last_week: 4, live: 6 });
    t.is(String(status['last_end']).slice(0, 10), lastDay);
    const used = { client_id: clientId, last_day: 1, last_week: 1 };
    t.deepEqual(
      (status['tokens'] as readonly Record<string, unknown>[]).map(
        ({ last_end: _lastEnd, name: _name, ...one }) => one,
      ),
      [
        { client_id: null, last_day: 0, last_week: 0, kind: 'refresh', live: 1 },
        { ...used, kind: 'user', live: 1 },
        { ...used, kind: 'personal', live: 1 },
        { ...used, kind: 'client', live: 1 },
        { ...used, kind: 'refresh', live: 2 },
      ],
    );
    const shown = await gatehouse(question, { DATABASE_URL });
    t.regex(shown.output, /access tokens of users +1 +1 +1 +\d{4}-/);
    t.true(
      shown.output.includes(
        `Not listed: 1 more of which none was used within a week. --json lists them.\n\nThe feature laravelPassport() is needed: tokens were used within a week. There are 6 live tokens, of which the last one ends on ${lastDay}.\n`,
      ),
      shown.output,
    );

    // Whoever may read the clients only can import them.
    await database.schema.dropTable('oauth_refresh_tokens');
    const without = await gatehouse(words, { DATABASE_URL });
    t.is(without.code, 0);
    t.regex(without.output, /The live tokens were not counted: source: .* no table oauth_refresh_tokens/);
  },
);

test.serial('it says when the feature laravelPassport() can go', async (t) => {
  const address = `sqlite:${temporaryFile('laravel.sqlite')}`;
  await using laravel = await startLaravel('11', { address });
  const { database } = laravel;
  await database('oauth_access_tokens').delete();
  await database('oauth_refresh_tokens').delete();
  const DATABASE_URL = `sqlite:${temporaryFile()}`;
  const status = async (env: object = { PASSPORT_DATABASE_URL: address }): ReturnType<typeof gatehouse> =>
    gatehouse('laravel-passport status', { DATABASE_URL, ...env });
  const platform = await moveIn(laravel, { storage: knexStorage(DATABASE_URL) });
  t.is((await status()).output, 'No token of Passport is live: the feature laravelPassport() can go.\n');

  const { accessToken } = await issue(database, { clientId: 7, userId: 42, expiresIn: 30 * DAY });
  t.is((await platform.api('/identity', accessToken)).status, 200);
  await platform[Symbol.asyncDispose]();
  passTime(8 * DAY);
  const { code, output } = await status();
  t.is(code, 0);
  t.regex(output, /No token of Passport was used within a week\. There are 2 live tokens, of which the last/);

  const without = await status({});
  t.is(without.code, 2);
  t.regex(without.errors, /Give the database of the Laravel app: --source URL/);
});
