import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { passTime, resetClock } from '../harness/clock.ts';
import { authorizeUrl, people, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { aSession } from '../storage/rows.ts';

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const HOUR = 3600;
const BOB = ['bob', 'battery staple'] as const;
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

/** A browser in which a user has signed in. */
async function browserOf(
  platform: Platform,
  userAgent = FIREFOX,
  [person, password]: readonly [string, string] = ['ann', 'correct horse'],
): Promise<Browser> {
  const browser = new Browser(platform.reach);
  const page = await browser.open(platform.url('/oauth/login'));
  const fields = { ...page.hiddenFields(), login: `${person}@school.example`, password };
  await browser.post(page.actionOf('Sign in'), new URLSearchParams(fields), { 'user-agent': userAgent });
  return browser;
}

async function open(platform: Platform, browser: Browser): Promise<Page> {
  return browser.open(platform.url('/account/sessions'));
}

async function isSignedIn(platform: Platform, browser: Browser): Promise<boolean> {
  return (await open(platform, browser)).heading === 'Where you are signed in';
}

/** What the page says of each session, without the times. */
function rowsOf({ html }: Page): readonly string[] {
  return html
    .split(/<li(?: class="with-action")?>\s*(?=<p class="title")/)
    .slice(1)
    .map((row) =>
      row
        .slice(0, row.indexOf('</li>'))
        .replaceAll(/<span class="unseen">.*?<\/span>|<time.*?<\/time>|<[^>]+>/gs, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
}

const OTHER = /action="([^"]*\/account\/sessions\/[^"/]+\/end)"/;

test('the page lists the browsers in which a user is signed in, each with its place; this one has no button', async (t) => {
  await using platform = await startPlatform();
  const [computer, phone] = [await browserOf(platform), await browserOf(platform, SAFARI)];
  await browserOf(platform, FIREFOX, BOB);
  const page = await open(platform, computer);
  t.is(page.status, 200);
  t.is(page.response.headers.get('cache-control'), 'no-store');
  t.is(page.heading, 'Where you are signed in');
  t.deepEqual(rowsOf(page).toSorted(), [
    'Firefox, Windows, 127.0.0.1 This browser Signed in · Last used',
    'Safari, iOS, 127.0.0.1 Sign out Signed in · Last used',
  ]);
  t.regex(page.text, /You are signed in to Acme Schools in 2 browsers\./);
  t.deepEqual(rowsOf(await open(platform, phone)).toSorted(), [
    'Firefox, Windows, 127.0.0.1 Sign out Signed in · Last used',
    'Safari, iOS, 127.0.0.1 This browser Signed in · Last used',
  ]);
});

test('the text of a User-Agent is escaped, shortened and on one line', async (t) => {
  await using platform = await startPlatform();
  const browser = await browserOf(platform, `<b>program</b> ${'x'.repeat(1000)}`);
  const page = await open(platform, browser);
  t.false(page.html.includes('<b>program'));
  t.regex(rowsOf(page)[0]!, /^&lt;b&gt;program&lt;\/b&gt; x{100,}…, 127\.0\.0\.1 This browser/);
});

test('a browser that is not signed in is sent to the login page, and returns', async (t) => {
  await using platform = await startPlatform();
  const { location, status } = await new Browser().get(platform.url('/account/sessions'));
  t.is(status, 303);
  t.is(location?.searchParams.get('return_to'), '/account/sessions');
  const posted = await new Browser().post(platform.url('/account/sessions/x/end'), new URLSearchParams());
  t.is(posted.status, 403);
  t.is(posted.heading, 'You are no longer signed in');
});

test('another site, and another user, end no session', async (t) => {
  await using platform = await startPlatform();
  const [ann, other, bob] = [
    await browserOf(platform),
    await browserOf(platform, SAFARI),
    await browserOf(platform, FIREFOX, BOB),
  ];
  const [, path = ''] = OTHER.exec((await open(platform, ann)).html)!;
  const crossSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const refused = await ann.post(platform.url(path), new URLSearchParams(), crossSite);
  t.is(refused.status, 403);
  const done = await bob.post(platform.url(path), new URLSearchParams());
  t.is(done.location?.search, '?done=ended', 'as for one that has ended already');
  t.true(await isSignedIn(platform, other));
  for (const id of ['%FF', 'x'.repeat(5000), '%00', '..'])
    t.true((await ann.post(platform.url(`/account/sessions/${id}/end`), new URLSearchParams())).status < 500);
  t.true(await isSignedIn(platform, ann));
});

async function endsForGood(t: ExecutionContext, here: Platform, there: Platform): Promise<void> {
  const [browser, other, third] = [
    await browserOf(here),
    await browserOf(there, SAFARI),
    await browserOf(there, SAFARI),
  ];
  const app = await here.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(there, app, { browser: other });
  const ids = [...(await open(here, browser)).html.matchAll(new RegExp(OTHER, 'g'))].map(
    ([, path = '']) => path,
  );
  t.is(ids.length, 2);
  const ended = await browser.post(here.url(ids[0]!), new URLSearchParams());
  t.is(ended.location?.href, here.url('/account/sessions?done=ended').href);
  const page = await browser.follow(ended);
  t.regex(page.text, /You are signed out in that browser\./);
  t.is(rowsOf(page).length, 2);
  t.is([await isSignedIn(there, other), await isSignedIn(there, third)].filter(Boolean).length, 1);
  await browser.post(here.url(ids[0]!), new URLSearchParams());
  t.is(rowsOf(await open(here, browser)).length, 2, 'a repetition ends nothing else');

  const listed = await open(here, browser);
  const left = await Promise.all(
    Array.from({ length: 3 }, async () => browser.submit(listed, 'Sign out everywhere else')),
  );
  for (const { location } of left) t.is(location?.search, '?done=ended_others');
  t.deepEqual(
    [await isSignedIn(there, other), await isSignedIn(there, third), await isSignedIn(there, browser)],
    [false, false, true],
  );
  const alone = await open(here, browser);
  t.regex(alone.text, /in this browser only/);
  t.false(alone.html.includes('end-others'));
  const question = await other.get(authorizeUrl(there, app, { prompt: 'none' }));
  t.is(question.location?.searchParams.get('error'), 'login_required');
  t.is((await there.api('/schools', body.access_token)).status, 200, 'what the app may do goes on');
  const records = await here.auth.audit.list({ types: ['logout'] });
  t.is(records.length, 2);
  t.like(records[0], { userId: '1', address: '127.0.0.1' });
}

onEachDatabase(
  'a session that is ended stays ended, on every node; apps keep their access',
  async (t, _database, address) => {
    await using here = await startPlatform({ storage: knexStorage(address), migrate: true });
    await using there = await startPlatform({ storage: knexStorage(address), issuer: here.origin });
    await endsForGood(t, here, there);
  },
);

test.serial(
  'the last use is stored to hours, also at the absolute end, and no request before writes',
  async (t) => {
    t.teardown(resetClock);
    let updates = 0;
    await using platform = await startPlatform({
      storage: around(memoryStorage(), async (name, call) => {
        if (name === 'sessions.update') updates += 1;
        return call();
      }),
    });
    const app = await platform.registerApp({ firstParty: true });
    const browser = await browserOf(platform);
    const used = async (): Promise<number | undefined> =>
      (await platform.auth.userGrants.list('1')).sessions[0]?.lastUsedAt;
    const begun = await used();
    for (let visit = 0; visit < 3; visit += 1) await runCodeFlow(platform, app, { browser });
    t.is(updates, 0);
    t.is(await used(), begun);
    const writesOnceAfter = async (seconds: number): Promise<void> => {
      const [before, usedBefore] = [updates, (await used())!];
      passTime(seconds);
      for (let visit = 0; visit < 3; visit += 1) await runCodeFlow(platform, app, { browser });
      t.is(updates, before + 1);
      t.true((await used())! >= usedBefore + seconds);
    };
    await writesOnceAfter(4 * HOUR);
    for (let day = 1; day < 84; day += 12) await writesOnceAfter(12 * 24 * HOUR);
    await writesOnceAfter(HOUR);
    await writesOnceAfter(HOUR);
  },
);

test('of many sessions the page shows 50, and ends all others', async (t) => {
  const storage = memoryStorage();
  await using platform = await startPlatform({ storage });
  const browser = await browserOf(platform);
  const expiresAt = Date.now() / 1000 + HOUR;
  for (let number = 0; number < 70; number += 1)
    await storage.sessions.insert(
      aSession({ id: `session ${number}`, uid: `session ${number}`, userId: '1', expiresAt, sequence: 9 }),
    );
  const page = await open(platform, browser);
  t.is(rowsOf(page).length, 50);
  t.regex(page.text, /signed in to Acme Schools in more than 50 browsers\. Those used last are shown\./);
  t.like(await platform.auth.userGrants.list('1'), { moreSessions: true, sessions: { length: 50 } });
  const done = await browser.follow(await browser.submit(page, 'Sign out everywhere else'));
  t.regex(done.text, /in this browser only/);
  t.is((await platform.auth.audit.list({ types: ['logout'], limit: 100 })).length, 70);
});

test('there is no page when the option turns it off, and none with a login at the host', async (t) => {
  const users = people();
  const currentUser = async (): Promise<Person | undefined> => users.find('1');
  for (const options of [{ paths: { sessions: false as const } }, { users, login: { currentUser } }]) {
    await using platform = await startPlatform(options);
    const browser = 'login' in options ? new Browser() : await browserOf(platform);
    t.is((await browser.get(platform.url('/account/sessions'))).status, 404);
    const apps = await browser.open(platform.url('/account/apps'));
    t.is(apps.heading, 'Connected apps');
    t.false(apps.html.includes('Your sign-ins'));
  }
  await using moved = await startPlatform({ paths: { sessions: '/me/sign-ins' } });
  const browser = await browserOf(moved);
  t.is((await browser.open(moved.url('/me/sign-ins'))).heading, 'Where you are signed in');
});
