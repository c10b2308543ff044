import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { countUsage } from '../../lib/features/developer/activity.ts';
import { completeClient } from '../harness/client.ts';
import { authorizeUrl, runCodeFlow } from '../harness/platform.ts';
import { linkOn, nextPageOn, openArea, REPORTS } from './area.ts';

test('the activity shows why a token request failed, in pages of thirty events', async (t) => {
  const { browser, open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  const path = `/${client.id}/activity`;
  const request = { grant_type: 'client_credentials', client_id: client.id };
  for (let count = 0; count < 31; count += 1) await token({ ...request, client_secret: secret });
  await token({ ...request, client_secret: 'wrong-secret-that-no-page-shows' });
  // The events of another app are not among them.
  const other = await registerFor('dora');
  await token({ ...request, client_id: other.client.id, client_secret: other.secret });
  const first = await open(path);
  t.regex(first.text, /Token request refused invalid_client [^<]* UTC Why \w+/);
  t.true(first.text.includes('From 127.0.0.1'));
  t.false(first.html.includes('that-no-page-shows'));
  t.false(first.html.includes(secret));
  t.is(first.text.split('Token issued').length - 1, 29);
  const second = await browser.open(nextPageOn(first)!);
  t.is(second.text.split('Token issued').length - 1, 2);
  t.true(second.text.includes('App created'));
  t.true(second.text.includes('Newest'));
  for (const before of ['x', '1', '1_', '_1', '9'.repeat(20), '0_x', '1.5_%00', '1_\u202E'])
    t.is((await open(`${path}?before=${encodeURIComponent(before)}`)).status, 200, before);
});

test('people have their names if they gave the app access; the events are filtered by kind and by person', async (t) => {
  const storage = memoryStorage();
  const platform = await openArea(t, 'dora', { storage });
  const { browser, open, registerFor, signInAs } = platform;
  const app = await registerFor('dora', REPORTS);
  const path = `/${app.client.id}/activity`;
  await runCodeFlow(platform, app, { browser: await signInAs('ann') });
  const emils = await signInAs('emil');
  await emils.submit(await emils.open(authorizeUrl(platform, app)), 'Deny');
  await (await platform.developer('root')).update(app.client.id, { name: 'Renamed' });
  const page = await open(path);
  t.regex(page.text, /App changed .* By an administrator/);
  // The address is that of a browser.
  t.false(page.text.includes('From 1'));
  t.regex(page.text, /A person authorized the app ann@school\.example .* UTC User ann@school\.example/);
  t.regex(page.text, /A person did not authorize the app \w+ \d+, \d{4}, [\d:]+ UTC/);
  t.false(page.html.includes('emil'));
  t.false((await open(`${path}?user=emil`)).text.includes('A person'));
  const ofAll = await (await signInAs('root')).open(page.url);
  t.true(ofAll.text.includes('From 127.0.0.1'));
  t.true(ofAll.text.includes('From 192.0.2.1'));
  t.regex(ofAll.text, /A person did not authorize the app emil@school\.example/);
  t.regex(ofAll.text, /A person authorized the app ann@school\.example/);

  const issued = { at: Date.now() / 1000, type: 'token_issued', grantType: 'refresh_token' } as const;
  const records = Array.from({ length: 31 }, (_, index) => {
    return { ...issued, id: `${index}`, clientId: app.client.id, userId: index === 0 ? 'emil' : 'ann' };
  });
  await storage.audit.append(records, Infinity);
  const tokens = await open(`${path}?kind=tokens`);
  t.true(tokens.html.includes('<option value="tokens" selected>'));
  const first = await browser.open(linkOn(tokens, '[^"]+user=ann[^"]*"')!);
  t.regex(first.text, /Only events of ann@school\.example \. Show those of everybody/);
  t.is(first.text.split('Token issued').length - 1, 30);
  t.false(first.text.includes('emil'));
  const second = await browser.open(nextPageOn(first)!);
  t.is(second.text.split('Token issued').length - 1, 1);
  t.false(second.text.includes('A person'));
  t.regex(second.html, /<input type="hidden" name="user" value="ann">/);

  t.regex((await open(`${path}?kind=people`)).text, /A person authorized the app/);
  t.regex((await open(`${path}?kind=changes`)).text, /App created/);
  t.regex((await open(`${path}?kind=refused`)).text, /There are no such events\./);
  for (const query of ['kind=__proto__', 'kind=x', 'user=%00', 'user=nobody', `user=${'x'.repeat(2000)}`])
    t.is((await open(`${path}?${query}`)).status, 200, query);
});

test('the page of an app shows its last days, as bars and as a table', async (t) => {
  const { open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  t.regex((await open(`/${client.id}`)).text, /The last 30 days 0 tokens issued 0 requests refused/);
  const request = { grant_type: 'client_credentials', client_id: client.id };
  for (const client_secret of [secret, secret, 'wrong']) await token({ ...request, client_secret });
  const page = await open(`/${client.id}`);
  t.regex(page.text, /The last 30 days 2 tokens issued At most 2 a day 1 request refused At most 1 a day/);
  t.regex(page.text, /Numbers by day Day \(UTC\) Issued Refused \w+ \d+, \d{4} 2 1 /);
  t.is(page.html.split('<rect x="291"').length - 1, 2);
});

test('where events are stored for a shorter time, or not at all, the page says so', async (t) => {
  const week = await openArea(t, 'dora', { retention: { audit: '7 days' } });
  const { client } = await week.registerFor('dora');
  const { text } = await week.open(`/${client.id}`);
  t.regex(text, /The last 7 days .* Events are not stored for a longer time here\./);
  const none = await openArea(t, 'dora', { retention: { audit: 0 } });
  const other = await none.registerFor('dora');
  const page = await none.open(`/${other.client.id}`);
  t.is(page.status, 200);
  t.false(page.html.includes('class="usage"'));
  t.true((await none.open(`/${other.client.id}/activity`)).text.includes('Events are not stored here.'));
});

test('an app with very many events has only those days that are counted completely', async (t) => {
  const day = 24 * 60 * 60;
  const today = Math.floor(Date.now() / 1000 / day) * day;
  const days = (counts: readonly number[]) =>
    counts.map((count, index) => ({ day: today - index * day, count }));
  const usage = async (...issued: readonly number[]) => {
    const audit = {
      countByDay: async ({ type }: { type: string }) => days(type === 'token_issued' ? issued : [0, 3]),
    };
    const client = completeClient({ id: 'app', name: 'App' });
    return (await countUsage({ audit, retention: 90 * 24 * 60 * 60 }, client))!;
  };
  t.like(await usage(5), { truncated: false, days: { length: 30, 29: { issued: 5 }, 28: { refused: 6 } } });
  const many = await usage(9000, 9000, 2000);
  t.like(many, { truncated: true, days: { length: 2, 0: { issued: 9000 }, 1: { issued: 9000 } } });
  t.like(await usage(20_000), { days: { length: 1, 0: { issued: 20_000 } } });
});
