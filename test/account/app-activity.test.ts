import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { countUsage, listActivity } from '../../lib/account/app-activity.ts';
import type { AuditRecord } from '../../lib/contracts/index.ts';
import { completeClient } from '../harness/client.ts';
import { authorizeUrl, runCodeFlow } from '../harness/platform.ts';

import { openArea, REPORTS } from './area.ts';

test('the activity page shows why a token request failed', async (t) => {
  const { open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  t.true((await open(`/${client.id}/activity`)).text.includes('App created'));
  const request = { grant_type: 'client_credentials', client_id: client.id };
  await token({ ...request, client_secret: secret });
  await token({ ...request, client_secret: 'wrong-secret-that-no-page-shows' });
  const page = await open(`/${client.id}/activity`);
  t.true(page.text.includes('Token issued'));
  t.regex(page.text, /Token request refused invalid_client [^<]* UTC Why \w+/);
  t.true(page.text.includes('From 127.0.0.1'));
  t.false(page.html.includes('that-no-page-shows'));
  t.false(page.html.includes(secret));
});

test('the activity is paged', async (t) => {
  const { browser, open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  for (let count = 0; count < 40; count += 1) {
    await token({ grant_type: 'client_credentials', client_id: client.id, client_secret: secret });
  }
  const first = await open(`/${client.id}/activity`);
  t.is(first.text.split('Token issued').length - 1, 30);
  const older = /href="([^"]+)" rel="next"/.exec(first.html)?.[1] ?? '';
  const second = await browser.open(new URL(older, first.url));
  t.is(second.text.split('Token issued').length - 1, 10);
  t.true(second.text.includes('App created'));
  t.true(second.text.includes('Newest'));
  for (const before of ['x', '1', '1.', '.1', '9'.repeat(20), '0.x', '1.%00', '1.\u202E']) {
    t.is((await open(`/${client.id}/activity?before=${encodeURIComponent(before)}`)).status, 200, before);
  }
});

test('people have their names, of those who gave the app access; an administrator sees everybody', async (t) => {
  const platform = await openArea(t);
  const { open, registerFor, signInAs } = platform;
  const app = await registerFor('dora', REPORTS);
  await runCodeFlow(platform, app, { browser: await signInAs('ann') });
  const emils = await signInAs('emil');
  await emils.submit(await emils.open(authorizeUrl(platform, app)), 'Deny');

  const path = `/${app.client.id}/activity`;
  const page = await open(path);
  t.regex(page.text, /A person authorized the app ann@school\.example .* UTC User ann@school\.example/);
  t.regex(page.text, /A person did not authorize the app \w+ \d+, \d{4}, [\d:]+ UTC/);
  t.false(page.html.includes('emil'));
  t.false((await open(`${path}?user=emil`)).text.includes('A person'));

  const roots = await signInAs('root');
  const all = await roots.open(page.url);
  t.regex(all.text, /A person did not authorize the app emil@school\.example/);
  t.regex(all.text, /A person authorized the app ann@school\.example/);
});

test('the events are filtered by kind and by person, on each page of them', async (t) => {
  const platform = await openArea(t);
  const { browser, open, registerFor, signInAs } = platform;
  const app = await registerFor('dora', REPORTS);
  const [anns, emils] = [await signInAs('ann'), await signInAs('emil')];
  for (let count = 0; count < 31; count += 1) await runCodeFlow(platform, app, { browser: anns });
  await runCodeFlow(platform, app, { browser: emils });
  const path = `/${app.client.id}/activity`;

  const tokens = await open(`${path}?kind=tokens`);
  t.true(tokens.html.includes('<option value="tokens" selected>'));
  t.regex(tokens.text, /Token issued emil@school\.example/);
  const ofAnn = /href="([^"]+user=ann[^"]*)"/.exec(tokens.html)![1]!.replaceAll('&amp;', '&');
  const first = await browser.open(new URL(ofAnn, tokens.url));
  t.regex(first.text, /Only events of ann@school\.example \. Show those of everybody/);
  t.is(first.text.split('Token issued').length - 1, 30);
  t.false(first.text.includes('emil'));
  const older = /href="([^"]+)" rel="next"/.exec(first.html)![1]!.replaceAll('&amp;', '&');
  const second = await browser.open(new URL(older, first.url));
  t.is(second.text.split('Token issued').length - 1, 1);
  t.false(second.text.includes('A person'));
  t.regex(second.html, /<input type="hidden" name="user" value="ann">/);

  t.regex((await open(`${path}?kind=people`)).text, /A person authorized the app/);
  t.regex((await open(`${path}?kind=changes`)).text, /App created/);
  t.regex((await open(`${path}?kind=refused`)).text, /There are no such events\./);
  for (const query of ['kind=__proto__', 'kind=x', 'user=%00', 'user=nobody', `user=${'x'.repeat(2000)}`])
    t.is((await open(`${path}?${query}`)).status, 200, query);
});

test('each person is looked up once, however many events there are of theirs', async (t) => {
  const { audit } = memoryStorage();
  const client = completeClient({ id: 'app', name: 'App' });
  const records = Array.from({ length: 50 }, (_, index): AuditRecord => ({
    type: 'token_issued',
    clientId: 'app',
    userId: index % 2 === 0 ? 'ann' : 'removed',
    grantType: 'refresh_token',
    id: `${index}`,
    at: index,
  }));
  await audit.append(records, 9_999_999_999);
  const found: string[] = [];
  const users = {
    async find(id: string) {
      found.push(id);
      return id === 'ann' ? { id, name: 'Ann', email: 'ann@school.example' } : undefined;
    },
  };
  const activity = await listActivity({ audit, users }, client, { administrator: false });
  t.deepEqual(found.toSorted(), ['ann', 'removed']);
  t.is(activity.filter(({ user }) => user?.name === 'Ann').length, 25);
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
  const day = 24 * 60 * 60 * 1000;
  const today = Date.now() - (Date.now() % day);
  const client = completeClient({ id: 'app', name: 'App' });
  const days = (...counts: readonly number[]): { day: number; count: number }[] =>
    counts.map((count, index) => ({ day: today - index * day, count }));
  const usage = async (issued: readonly number[]): ReturnType<typeof countUsage> => {
    const audit = {
      countByDay: async ({ type }: { type: string }) =>
        type === 'token_issued' ? days(...issued) : days(0, 3),
    };
    return countUsage({ audit, retention: 90 * 24 * 60 * 60 }, client);
  };
  t.like(await usage([5]), { limited: false, days: { length: 30, 29: { issued: 5 }, 28: { refused: 6 } } });
  const many = await usage([9000, 9000, 2000]);
  t.true(many?.limited);
  t.deepEqual(
    many?.days.map(({ issued }) => issued),
    [9000, 9000],
  );
  t.deepEqual(
    (await usage([20_000]))?.days.map(({ issued }) => issued),
    [20_000],
  );
});
