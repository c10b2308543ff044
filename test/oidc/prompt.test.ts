import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { OPENID } from '../openid/options.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  return { platform };
});

test('prompt=none shows no page: login_required, then consent_required, then a code', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const url = authorizeUrl(platform, app, { prompt: 'none' });
  const answer = async (): Promise<URLSearchParams> => {
    const { location, status } = await browser.get(url);
    t.is(status, 303);
    t.is(location?.origin, 'https://reports.example');
    t.is(location?.searchParams.get('state'), 'xyz');
    t.is(location?.searchParams.get('iss'), platform.origin);
    return location!.searchParams;
  };
  t.is((await answer()).get('error'), 'login_required');

  await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  t.is((await answer()).get('error'), 'consent_required');

  await authorize(platform, app, { browser });
  t.truthy((await answer()).get('code'));

  url.searchParams.set('scope', 'schools:read');
  t.is((await answer()).get('error'), 'consent_required');
});

test('prompt=login asks for the password, and prompt=consent for the consent again', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const login = await browser.open(authorizeUrl(platform, app, { prompt: 'login' }));
  t.is(login.heading, 'Sign in');
  t.truthy((await signIn(browser, login)).location?.searchParams.get('code'));
  const consent = await browser.open(authorizeUrl(platform, app, { prompt: 'consent' }));
  t.is(consent.heading, 'Authorize Reports');
  const end = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.truthy(end.location?.searchParams.get('code'));
});

test('an invalid prompt is refused', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser });
  for (const prompt of ['none login', 'create', 'LOGIN', 'constructor']) {
    const { location } = await browser.get(authorizeUrl(platform, app, { prompt }));
    t.is(location?.searchParams.get('error'), 'invalid_request', prompt);
    t.is(location?.searchParams.get('state'), 'xyz', prompt);
  }
});

test('prompt=select_account is a login, with OpenID Connect and without', async (t) => {
  const { platform } = await started();
  await using other = await startPlatform({ openid: OPENID });
  for (const one of [platform, other]) {
    const app = await one.registerApp();
    const browser = new Browser();
    await authorize(one, app, { browser });
    for (const [prompt, first] of [
      ['select_account', undefined],
      ['consent select_account', 'Authorize Reports'],
    ] as const) {
      const login = await browser.open(authorizeUrl(one, app, { prompt }));
      t.is(login.heading, 'Sign in');
      const next = await signIn(browser, login);
      if (first === undefined) t.truthy(next.location?.searchParams.get('code'));
      else t.is(next.heading, first);
    }
  }
});
