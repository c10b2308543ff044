import test from '../harness/test.ts';

import { createHost } from '../../examples/embed.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, serveHost } from '../harness/platform.ts';
import { postForm, postJson } from '../harness/requests.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = await serveHost(stack, createHost);
  return { platform };
});

test('users log in once, on the host’s page, and the client calls the API for them', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  t.is(login.url.pathname, '/login');
  const consent = await browser.follow(await browser.submit(login, 'Log in as Ann'));
  t.is(consent.heading, 'Authorize Reports');
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  const { body } = await exchangeCode(platform, app, location?.searchParams.get('code'));
  const identity = await platform.api('/identity', body.access_token);
  t.like(identity.body, { data: { email: 'ann@host.example' } });
  t.is((await platform.api('/schools', body.access_token)).status, 200);
});

test("the host's routes, 404 and error handler are unchanged", async (t) => {
  const { platform: host } = await started();
  t.is(await (await fetch(`${host.origin}/oauth/custom`)).text(), 'A route of the host, below /oauth.');
  t.is((await fetch(`${host.origin}/nowhere`)).status, 404);
  const broken = await postJson(`${host.origin}/login`, '{');
  t.is(broken.status, 400);
  t.regex(broken.text, /^Error of the host: /);
});

test('the host’s login page redirects to its own origin only', async (t) => {
  const { platform: host } = await started();
  for (const target of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
  ]) {
    const { headers } = await postForm(`${host.origin}/login?return_to=${encodeURIComponent(target)}`, {});
    t.is(headers.get('location'), '/');
  }
});
