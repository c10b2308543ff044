import test from '../harness/test.ts';
import { personalTokens, defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { fakeClock } from 'koa-gatehouse/testing';

import { boxes, linkOn } from '../developer/area.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { gate, people, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';

const personal = { features: [personalTokens()] } as const;
const FORM = { name: 'Nightly import', lifetime: '30', 'access0-0': 'schools:read' };

/** A browser in which Ann is signed in, on the list of her tokens. */
async function signedIn(platform: Platform): Promise<{ browser: Browser; list: Page }> {
  const browser = new Browser(platform.reach);
  const page = await browser.open(platform.url('/account/tokens'));
  return { browser, list: await signIn(browser, page) };
}

/** The value on the page of a new token. */
function valueOn({ html }: Page): string {
  return /value="(gatehouse_pat_\w+)"/.exec(html)?.[1] ?? '';
}

test('a user creates a token, sees it once, uses it, and ends it', async (t) => {
  await using platform = await startPlatform(personal);
  const { browser, list } = await signedIn(platform);
  t.is(list.heading, 'Access tokens');
  t.regex(list.text, /No script can use your Acme Schools account/);
  const form = await browser.open(linkOn(list, '[^"]+/new"')!);
  const created = await browser.submit(form, 'Create a token', FORM);
  t.deepEqual([created.status, created.heading], [200, 'Your new token']);
  t.regex(created.text, /Name Nightly import Ends \w+ \d+, \d{4} /);
  t.regex(created.text, /curl -sS '\S+\/api\/v1\/identity' -H "Authorization: Bearer \$TOKEN"/);

  const value = valueOn(created);
  t.is((await platform.api('/schools', value)).status, 200);

  const again = await browser.follow(await browser.submit(form, 'Create a token', FORM));
  t.regex(again.text, /The token was created already, and its value is not shown again/);
  t.false(again.html.includes('gatehouse_pat_'));
  t.regex(again.text, /Nightly import.*See your schools.*Created.*Ends/s);
  const [token] = await platform.auth.personalTokens.list('1');
  const confirm = await browser.open(platform.url(`/account/tokens/${token!.id}/revoke`));
  t.regex(confirm.heading, /^End the token Nightly import ?\?$/);
  const ended = await browser.follow(await browser.submit(confirm, 'End'));
  t.regex(ended.text, /The token is ended/);
  t.is((await platform.api('/schools', value)).body['code'], 'token_invalid');
  t.is((await browser.open(platform.url(`/account/tokens/${token!.id}/revoke`))).heading, 'Access tokens');
  t.false(JSON.stringify(platform.logger.lines).includes('gatehouse_pat_'));
});

test('the form says what is wrong, and of an administrator, and how many a user can have', async (t) => {
  const own = defineGate({
    permissions: { view_schools: 'View schools', edit_schools: 'Edit', use_personal_tokens: 'Use tokens' },
    roles: { registrar: ['use_personal_tokens'] },
  });
  const users = people();
  users.all[0] = { ...users.all[0]!, roles: ['registrar'] };
  await using platform = await startPlatform({
    users,
    gate: own as unknown as typeof gate,
    scopes: {},
    features: [personalTokens({ perUser: 1, maxLifetime: '60 days' })],
  });
  const { browser } = await signedIn(platform);
  const form = await browser.open(platform.url('/account/tokens/new'));
  const lifetimes = [...form.html.matchAll(/<option value="(\d+)"/g)].map(([, days]) => days);
  t.deepEqual(lifetimes, ['7', '30', '60']);
  t.deepEqual(Object.keys(boxes(form)).toSorted(), ['use_personal_tokens', 'view_schools']);
  const wrong = await browser.submit(form, 'Create a token', { name: '', lifetime: '30' });
  t.is(wrong.status, 422);
  t.regex(wrong.text, /Give it a name of 1 to 100 characters/);
  for (const lifetime of ['8', '61'])
    t.is((await browser.submit(form, 'Create a token', { name: 'a', lifetime })).status, 422);
  const access = { [boxes(form)['view_schools']!]: 'view_schools' };
  const created = await browser.submit(form, 'Create a token', { name: 'a', lifetime: '7', ...access });
  t.is((await platform.api('/schools', valueOn(created))).status, 200);
  const full = await browser.open(platform.url('/account/tokens'));
  t.regex(full.text, /You have as many tokens as you can have: 1/);
  t.false(full.html.includes('/account/tokens/new'));

  users.all[0] = { ...users.all[0], roles: [] };
  t.regex((await browser.open(platform.url('/account/tokens'))).text, /An administrator can allow you to/);
  t.is((await browser.open(platform.url('/account/tokens/new'))).heading, 'Access tokens');
  const fields = { once: 'a'.repeat(16), api: '', name: 'b', lifetime: '7' };
  const refused = await browser.post(form.url, new URLSearchParams(fields));
  t.is(refused.status, 403);
  t.regex(refused.text, /Missing permission use_personal_tokens/);
  t.true(refused.html.includes('/oauth/logout'), 'the header of the signed-in user');
});

test('of several APIs one is chosen in the form, and what is checked at another is ignored', async (t) => {
  const library = 'https://library.example/v1';
  const scopes = { 'books:read': { description: 'See the books', permissions: [] } };
  await using platform = await startPlatform({
    ...personal,
    resources: { [library]: { name: 'Library', scopes } },
  });
  const { browser, list } = await signedIn(platform);
  t.is([...list.html.matchAll(/class="button primary"/g)].length, 1);
  const form = await browser.open(linkOn(list, '[^"]+/new"')!);
  t.regex(form.text, /Access to Acme Schools It can: .*See your schools Library It can: .*See the books/);
  const box = boxes(form);
  const both = { [box['schools:read']!]: 'schools:read', [box['books:read']!]: 'books:read' };
  const fields = { name: 'Books', lifetime: '30', api: library };
  const wrong = await browser.submit(form, 'Create a token', {
    ...fields,
    [box['schools:read']!]: 'schools:read',
  });
  t.is(wrong.status, 422);
  t.regex(wrong.html, new RegExp(`value="${library}" checked`));
  t.regex(wrong.html, new RegExp(`<a href="#${box['books:read']}">Choose what it can do`));
  const created = await browser.submit(form, 'Create a token', { ...fields, ...both });
  t.regex(created.text, /Name Books Access to Library Ends /);
  t.true(created.text.includes(`curl -sS '${library}'`));
  const [token, ...others] = await platform.auth.personalTokens.list('1');
  like(t, token, { name: 'Books', resource: library, scopes: ['books:read'] });
  t.deepEqual(others, []);
  t.is(
    (await browser.submit(form, 'Create a token', { ...fields, api: 'x' })).location?.pathname,
    '/account/tokens',
  );
});

test('another site, a token and an old browser cannot create one, and a user ends own tokens only', async (t) => {
  await using platform = await startPlatform(personal);
  const { browser } = await signedIn(platform);
  const { create, list } = platform.auth.personalTokens;
  const token = { name: 'a', lifetime: '1 day', scopes: ['schools:read'] } as const;
  const { value } = await create({ ...token, userId: '1' });
  const theirs = await create({ ...token, userId: '2' });
  const url = platform.url('/account/tokens/new');
  const body = new URLSearchParams({ once: 'a'.repeat(16), api: '', ...FORM });
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  for (const form of [url, platform.url(`/account/tokens/x/revoke`)])
    t.is((await browser.post(form, body, headers)).heading, 'This form came from another site');
  // A token signs nobody in at a page.
  const authorization = `Bearer ${value}`;
  const byToken = await new Browser(platform.reach).post(url, body, { authorization });
  t.deepEqual([byToken.status, byToken.heading], [403, 'You are no longer signed in']);
  const page = await new Browser(platform.reach).get(platform.url('/account/tokens'), { authorization });
  t.is(page.location?.pathname, '/oauth/login');
  await browser.post(platform.url(`/account/tokens/${theirs.id}/revoke`), new URLSearchParams());
  t.is((await platform.api('/identity', theirs.value)).status, 200);
  t.is((await list('1')).length, 1);
});

test.serial('an old login is asked for the password again, before the form and after it', async (t) => {
  await using platform = await startPlatform(personal);
  const { browser } = await signedIn(platform);
  const url = platform.url('/account/tokens/new');
  const form = await browser.open(url);
  using clock = fakeClock();
  clock.advance('11 minutes');
  const refused = await browser.submit(form, 'Create a token', FORM);
  t.deepEqual([refused.status, refused.heading], [403, 'You are no longer signed in']);
  t.true(refused.html.includes('prompt=login'));
  const login = await browser.open(url);
  t.is(login.url.pathname, '/oauth/login');
  t.is(login.heading, 'Sign in');
  const back = await signIn(browser, login);
  t.deepEqual([back.url.pathname, back.heading], ['/account/tokens/new', 'Create a token']);
  t.is((await browser.submit(form, 'Create a token', FORM)).heading, 'Your new token');
});

test.serial('where the host logs users in, it says when, or the user gives the password here', async (t) => {
  const users = people();
  const [ann] = users.all;
  using clock = fakeClock();
  let at: number | undefined = Math.floor(Date.now() / 1000);
  const host = { currentUser: () => ann, authenticatedAt: () => at };
  await using platform = await startPlatform({ users, ...personal, login: { ...host, url: '/host-login' } });
  const browser = new Browser(platform.reach);
  const url = platform.url('/account/tokens/new');
  t.is((await browser.open(url)).heading, 'Create a token');
  clock.advance('1 hour');
  for (const time of [at, undefined]) {
    at = time;
    const again = await browser.open(url);
    t.is(again.heading, 'Sign in again');
    t.regex(again.html, /href="[^"]*\/host-login\?return_to=[^"]*&amp;prompt=login"/);
  }
  await using here = await startPlatform({ users, ...personal, login: { currentUser: () => ann } });
  const other = new Browser(here.reach);
  const login = await other.open(here.url('/account/tokens/new'));
  t.is(login.heading, 'Sign in');
  t.is((await signIn(other, login)).heading, 'Create a token');
});

test('a token that is being created when its user is ended never works: at each call of the storage', async (t) => {
  const { pause, storage } = pausable(memoryStorage());
  await using platform = await startPlatform({ storage, ...personal });
  for (const step of ['revocations.latestSequence', 'idempotency.begin', 'personalTokens.insert']) {
    const { browser } = await signedIn(platform);
    const form = await browser.open(platform.url('/account/tokens/new'));
    const { reached, resume } = pause(step);
    const creating = browser.submit(form, 'Create a token', FORM);
    await reached;
    await platform.auth.revoke({ userId: '1' });
    resume();
    const created = await creating;
    t.true([200, 403].includes(created.status), created.text);
    t.not((await platform.api('/identity', valueOn(created))).status, 200, step);
    t.deepEqual(await platform.auth.personalTokens.list('1'), [], step);
  }
});
