import test from 'ava';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';

const platform = await startPlatform();
test.after.always(() => platform[Symbol.asyncDispose]());

function cookiesOf(browser: Browser): string {
  return browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
}

test('a copied session cookie does not work after the logout', async (t) => {
  const app = await platform.registerApp({ firstParty: true });
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const copied = cookiesOf(browser);
  const ask = authorizeUrl(platform, app, { prompt: 'none' });
  const before = await new Browser().get(ask, { cookie: copied });
  t.truthy(before.location?.searchParams.get('code'), 'the copy works before the logout');

  await browser.submit(await browser.open(platform.url('/oauth/logout')), 'Sign out');
  const refused = await new Browser().get(ask, { cookie: copied });
  t.is(refused.location?.searchParams.get('error'), 'login_required');
  const page = await new Browser().get(platform.url('/account/apps'), { cookie: copied });
  t.is(page.location?.pathname, '/oauth/login');
});

test('a logout does not end the session of another browser of the user', async (t) => {
  const [desk, phone] = [new Browser(), new Browser()];
  for (const browser of [desk, phone]) {
    await signIn(browser, await browser.open(platform.url('/oauth/login')));
  }
  await desk.submit(await desk.open(platform.url('/oauth/logout')), 'Sign out');
  t.is((await phone.open(platform.url('/account/apps'))).heading, 'Connected apps');
});
