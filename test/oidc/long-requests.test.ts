import { randomBytes } from 'node:crypto';

import test from '../harness/test.ts';

import type { Client } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';

const TOO_LONG = 'the authorization request is too long';

/** Values of `state` of all lengths: some that cannot be compressed, and some that a URL makes longer. */
function* states(): Generator<string> {
  for (const length of [500, 1500, 2000, 3000, 5000, 6400, 6500, 6600, 6700, 6800, 7000, 9000])
    yield randomBytes(length).toString('base64url').slice(0, length);
  for (const length of [1000, 3000, 4000, 4300, 4600, 9000, 14_000]) yield '!'.repeat(length);
}

function requestOf(platform: Platform, { id, redirectUris: [redirectUri = ''] }: Client, state: string): URL {
  const url = authorizeUrl(platform, { client: { id }, redirectUri });
  // As browsers send it: URLSearchParams would encode more.
  url.search = url.search.replace('state=xyz', `state=${state}`);
  return url;
}

test('each request comes back from the login page of the host, or is refused before it', async (t) => {
  let hostUser: Person | undefined;
  await using own = await startPlatform({ login: { currentUser: () => hostUser, url: '/login' } });
  const { client } = await own.registerApp({ firstParty: true });
  let refused = 0;
  for (const state of states()) {
    hostUser = undefined;
    const what = `${state.length} of ${state.slice(0, 3)}`;
    const browser = new Browser();
    const asked = await browser.open(requestOf(own, client, state));
    if (asked.url.pathname !== '/login') {
      t.is(asked.status, 400, what);
      t.true(asked.text.includes(TOO_LONG), asked.text);
      t.true(new URLSearchParams({ state }).toString().length > 6000, what);
      refused += 1;
      continue;
    }
    [hostUser] = own.users.all;
    const end = await browser.open(asked.url.searchParams.get('return_to')!);
    t.is(end.location?.searchParams.get('state'), state, what);
    t.truthy(end.location?.searchParams.get('code'), what);
  }
  t.true(refused > 1);
});

test('each request comes back from the pages, also where the consent is not remembered', async (t) => {
  await using own = await startPlatform();
  const redirectUri = `http://127.0.0.1/${'x'.repeat(200)}`;
  const { client } = await own.registerApp({ redirectUris: [redirectUri] });
  for (const state of states()) {
    const browser = new Browser();
    const asked = await browser.open(requestOf(own, client, state));
    if (asked.status === 400) {
      t.true(asked.text.includes(TOO_LONG), asked.text);
      continue;
    }
    // Browsers send the URL of the page with its form, and with the requests that it is redirected to.
    const page = await signIn(browser, asked);
    const end = await browser.follow(await browser.submit(page, 'Authorize'));
    t.is(end.location?.searchParams.get('state'), state);
  }
});

test('a page comes back from the login with all of its query, or says that its address is too long', async (t) => {
  await using own = await startPlatform({ login: { currentUser: () => undefined, url: '/login' } });
  await using bundled = await startPlatform();
  for (const platform of [own, bundled]) {
    const page = `/account/apps?search=${'x'.repeat(7000)}`;
    const login = await new Browser().get(platform.url(page));
    t.true(login.location?.searchParams.get('return_to')?.endsWith(page));
    const refused = await new Browser().get(platform.url(`${page}${'x'.repeat(3000)}`));
    t.is(refused.status, 414);
    t.is(refused.heading, 'That did not work');
    t.true(refused.text.includes('The address of this page is too long to return to it after the sign-in.'));
  }
  const browser = new Browser();
  const page = `/account/apps?search=${'x'.repeat(7000)}`;
  const end = await signIn(browser, await browser.open(bundled.url(page)));
  t.is(end.url.pathname + end.url.search, page);
});
