import test from '../harness/test.ts';

import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import {
  authorize,
  authorizeUrl,
  BOTH_SCOPES,
  runCodeFlow,
  signIn,
  startPlatform,
} from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { shared } from '../harness/shared.ts';

const { storage, pause } = pausable(memoryStorage());
const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform({
      storage,
      scopes: BOTH_SCOPES,
    }),
  );
  return { platform };
});

/** Signs a user in on a new browser; returns the next page. */
async function openAs(
  app: RegisteredApp,
  {
    browser = new Browser(),
    person = 'ann@school.example',
    password = 'correct horse',
    ...parameters
  }: { browser?: Browser; person?: string; password?: string; scope?: string; prompt?: string } = {},
): Promise<Page> {
  const { platform } = await started();
  const page = await browser.open(authorizeUrl(platform, app, parameters));
  return page.heading === 'Sign in' ? signIn(browser, page, person, password) : page;
}

const BOB = { person: 'bob@school.example', password: 'battery staple' };

test('the page shows the client, the scopes, the user and the redirect host', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ name: 'Reports & <Co>' });
  const page = await openAs(app, { scope: 'schools:read schools:write' });
  t.is(page.heading, 'Authorize Reports & <Co>');
  for (const text of [
    'See your schools',
    'Change your schools',
    'Signed in as ann@school.example',
    'https://reports.example',
  ])
    t.true(page.text.includes(text), text);
  t.true((await openAs(app)).text.includes('with the permissions that you have'));
});

test('Deny redirects with access_denied and the state, and stores nothing', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await openAs(app, { browser });
  const { location, status, response } = await browser.submit(page, 'Deny');
  t.is(status, 303);
  t.is(location!.origin + location!.pathname, 'https://reports.example/callback');
  t.deepEqual(Object.fromEntries(location!.searchParams), {
    error: 'access_denied',
    error_description: 'the user denied the request',
    state: 'xyz',
    iss: platform.origin,
  });
  t.is(response.headers.get('cache-control'), 'no-store');
  t.is(await storage.consents.find('1', app.client.id), undefined);
  t.deepEqual(await storage.grants.revoke({ userId: '1', clientId: app.client.id }, 0), []);
  // The page is still open.
  const end = await browser.follow(await browser.submit(page, 'Authorize'));
  t.truthy(end.location?.searchParams.get('code'));
});

test('with response_mode=fragment the error of Deny is in the fragment', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({
    redirectUris: ['https://reports.example/callback?from=a&error=b'],
  });
  const browser = new Browser();
  const url = authorizeUrl(platform, app, { response_mode: 'fragment' });
  const page = await signIn(browser, await browser.open(url));
  const { location } = await browser.submit(page, 'Deny');
  t.is(location!.search, '?from=a&error=b');
  t.is(new URLSearchParams(location!.hash.slice(1)).get('error'), 'access_denied');

  const query = await browser.open(authorizeUrl(platform, app));
  const answer = (await browser.submit(query, 'Deny')).location!.searchParams;
  t.deepEqual([answer.get('from'), answer.getAll('error')], ['a', ['access_denied']]);
});

test('Deny does not revoke an earlier consent', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const { body } = await runCodeFlow(platform, app, { browser });
  const page = await openAs(app, { browser, scope: 'schools:read' });
  await browser.follow(await browser.submit(page, 'Deny'));
  t.deepEqual((await storage.consents.find('1', app.client.id))?.scopes, ['']);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
});

test('a consent is stored per user and client, for all browsers', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  await authorize(platform, app);
  t.truthy((await openAs(app)).location?.searchParams.get('code'));
  t.is((await openAs(await platform.registerApp())).heading, 'Authorize Reports', 'another client');
  t.is((await openAs(app, BOB)).heading, 'Authorize Reports', 'another user');
  t.is((await openAs(app, { scope: 'schools:read' })).heading, 'Authorize Reports', 'another scope');
  await storage.consents.delete('1', app.client.id);
  t.is((await openAs(app)).heading, 'Authorize Reports', 'after it was deleted');
});

test('a consent is stored per scope: more scopes ask again, fewer do not', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const more = await openAs(app, { browser, scope: 'schools:read schools:write' });
  t.is(more.heading, 'Authorize Reports');
  t.true(more.text.includes('See your schools'));
  t.true(more.text.includes('Change your schools'));
  await browser.follow(await browser.submit(more, 'Authorize'));
  t.truthy((await openAs(app, { browser, scope: 'schools:write schools:read' })).location);

  const everything = await openAs(app, { browser, scope: '' });
  t.is(everything.heading, 'Authorize Reports', 'all that the user may do is more than any scopes');
  await browser.follow(await browser.submit(everything, 'Authorize'));
  for (const scope of ['', 'schools:read']) t.truthy((await openAs(app, { browser, scope })).location, scope);
});

test('scopes of several consents add up', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  await authorize(platform, app, { parameters: { scope: 'schools:write' } });
  await authorize(platform, app, { parameters: { scope: 'schools:read' } });
  t.truthy((await openAs(app, { scope: 'schools:read schools:write' })).location);
  const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  t.is(body.scope, 'schools:read', 'not all that was ever authorized');
});

test.serial('scopes of two concurrent consents add up', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await openAs(app, { browser, scope: 'schools:read' });
  const { reached, resume } = pause('consents.add');
  const first = browser.submit(page, 'Authorize');
  await reached;
  await authorize(platform, app, { parameters: { scope: 'schools:write' } });
  resume();
  await first;
  const consent = await storage.consents.find('1', app.client.id);
  t.deepEqual(consent?.scopes, ['schools:read', 'schools:write']);
});

test.serial('scopes of an app that is disconnected during a new consent are not restored', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const more = await openAs(app, { browser, scope: 'schools:write' });
  const { reached, resume } = pause('consents.add');
  const answer = browser.submit(more, 'Authorize');
  await reached;
  await storage.consents.delete('1', app.client.id);
  resume();
  const end = await browser.follow(await answer);
  t.truthy(end.location?.searchParams.get('code'));
  t.deepEqual((await storage.consents.find('1', app.client.id))?.scopes, ['schools:write']);
});

test('a first-party client needs no consent, with or without scopes', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  t.truthy((await openAs(app)).location?.searchParams.get('code'));
  const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  t.is(body.scope, 'schools:read');
  t.is(await storage.consents.find('1', app.client.id), undefined, 'no consent is stored');
});

test('only a POST gives consent', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await openAs(app, { browser });
  const resumed = await browser.open(
    `${platform.origin}/oauth/authorize/${page.url.pathname.split('/').at(-1)!}`,
  );
  t.deepEqual([resumed.status, resumed.heading], [400, 'This sign-in is no longer open']);
  const action = page.actionOf('Authorize');
  for (const url of [action, new URL(`${page.url.href}?consent=yes`), page.url]) {
    t.is((await browser.open(url)).heading, 'Authorize Reports', url.href);
  }
  t.is(await storage.consents.find('1', app.client.id), undefined);
});

test('"Not you?" asks for a login, and then asks the new user for consent', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  await authorize(platform, app);
  const browser = new Browser();
  const page = await openAs(app, { browser, ...BOB, prompt: 'consent' });
  const login = await browser.follow(await browser.submit(page, 'Not you?'));
  t.is(login.heading, 'Sign in');
  const consent = await signIn(browser, login);
  t.is(consent.heading, 'Authorize Reports', 'prompt=consent holds for the new user too');
  t.true(consent.text.includes('Signed in as ann@school.example'));
  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(end.location?.searchParams.get('state'), 'xyz');
  t.truthy(end.location?.searchParams.get('code'));
  t.is(await storage.consents.find('2', app.client.id), undefined);
});
