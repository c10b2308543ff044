import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../harness/platform.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { gatehouse, gatehouseJson, migrated } from './gatehouse.ts';

test('events are listed and exported, filtered, and since a time', async (t) => {
  const address = await migrated();
  const env = { DATABASE_URL: address };
  await using platform = await startPlatform({ storage: knexStorage(address) });
  const { auth } = platform;
  const service = await platform.registerService();
  const other = await platform.registerService();
  for (let count = 0; count < 3; count += 1)
    await requestClientToken(platform, { ...service, secret: 'wrong' });
  await requestClientToken(platform, other);
  await auth.audit.flush();

  const { output } = await gatehouse(`audit list --client-id ${service.client.id} --type token_refused`, env);
  t.is(output.match(/token_refused/g)?.length, 3);
  t.regex(output, /reason=invalid secret provided/);
  const { events } = await gatehouseJson<{ events: Record<string, unknown>[] }>('audit list --limit 2', env);
  t.is(events.length, 2);
  t.is(events[0]!['type'], 'token_issued');
  t.is(events[0]!['client_id'], other.client.id);
  t.regex(String(events[0]!['at']), /^\d{4}-\d\d-\d\dT.*Z$/);

  const exported = (await gatehouse("audit export --since '1 hour'", env)).output.trimEnd().split('\n');
  const all = exported.map((line) => JSON.parse(line) as { id: string; type: string });
  t.true(all.length >= 8);
  t.is(new Set(all.map(({ id }) => id)).size, all.length);
  t.deepEqual(
    all.map(({ id }) => id),
    all
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  );
  t.is((await gatehouse('audit export --since 2099-01-01', env)).output, '');
  t.is((await gatehouse('audit list --since 2099-01-01', env)).output, 'No events.\n');

  for (const [command, said] of [
    ['audit list --type token_refusd', /there is no event "token_refusd"; the events are token_issued, /],
    ['audit list --since yesterday', /Give a date such as 2027-05-31, .* or how long ago, such as '7 days'/],
    ['audit list --limit 0', /Give a number from 1 to 10000/],
  ] as const) {
    const refused = await gatehouse(command, env);
    t.deepEqual([refused.code, refused.output], [2, ''], command);
    t.regex(refused.errors, said);
  }
});

test('an export reads page by page', async (t) => {
  const address = await migrated();
  const storage = knexStorage(address);
  const at = Date.now();
  const events = Array.from({ length: 450 }, (_, index) => ({
    id: `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    at: (at - 1000 + index) / 1000,
    type: 'logout' as const,
    userId: 'ann',
  }));
  for (let from = 0; from < events.length; from += 50)
    await storage.audit.append(events.slice(from, from + 50), 0);
  await storage.close();
  const { output } = await gatehouse('audit export --user-id ann', { DATABASE_URL: address });
  const lines = output.trimEnd().split('\n');
  t.is(lines.length, 450);
  t.is((JSON.parse(lines[0]!) as { id: string }).id, events.at(-1)!.id);
});
