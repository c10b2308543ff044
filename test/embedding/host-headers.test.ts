import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';

/** What koa-helmet sets by default, of what is about other windows and origins. */
const HELMET = {
  'Content-Security-Policy': "default-src 'self';form-action 'self'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'SAMEORIGIN',
};

test('a sign-in popup keeps the window that opened it, behind the headers of koa-helmet too', async (t) => {
  await using platform = await startPlatform(
    {},
    {
      before: [
        async (ctx, next) => {
          ctx.set(HELMET);
          await next();
        },
      ],
      behind: [
        (ctx) => {
          ctx.body = 'of the host';
        },
      ],
    },
  );
  const app = await platform.registerApp();
  const browser = new Browser();
  const url = authorizeUrl(platform, app);
  const asked = await browser.get(url);
  const login = await browser.get(asked.location!);
  const credentials = { login: 'ann@school.example', password: 'correct horse' };
  const loggedIn = await browser.submit(login, 'Sign in', credentials);
  const again = await browser.get(loggedIn.location!);
  const consent = await browser.get(again.location!);
  const consented = await browser.submit(consent, 'Authorize');
  const end = await browser.get(consented.location!);
  t.truthy(end.location?.searchParams.get('code'));
  const wrong = await browser.get(platform.url('/oauth/authorize'));
  t.is(wrong.status, 400);
  // Chromium separates the windows at a redirect too.
  for (const page of [asked, login, loggedIn, again, consent, consented, end, wrong]) {
    t.is(page.response.headers.get('cross-origin-opener-policy'), null, page.url.pathname);
    if (page.location === undefined)
      t.regex(page.response.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  }
  for (const path of ['/other', '/oauth/other', '/api/v1/identity']) {
    const { response } = await browser.get(platform.url(path));
    t.is(response.headers.get('cross-origin-opener-policy'), 'same-origin', path);
  }
});
