import test from '../harness/test.ts';

import { serveDocument, CALLBACK, documentOptions } from '../agents/documents.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { pages } from 'koa-gatehouse/interactions';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const app = await platform.registerApp();
  return { platform, app };
});

const POST = { response_mode: 'form_post' };
const BUTTON = 'Continue to https://reports.example';

test('a response is posted by a page of this server, with a script of its own', async (t) => {
  const { platform, app } = await started();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app, { ...POST, state: `"><script>'&` }));
  const consent = await signIn(browser, login);
  const page = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(page.status, 200);
  t.is(page.heading, 'Back to Reports');
  t.is(page.actionOf(BUTTON).href, app.redirectUri);
  const { code, iss, state, ...others } = page.hiddenFields();
  t.is(state, `"><script>'&`);
  t.is(iss, platform.origin);
  t.deepEqual(others, {});
  t.is((await exchangeCode(platform, app, code)).status, 200);
  const { headers } = page.response;
  t.is(headers.get('cache-control'), 'no-store');
  const policy = headers.get('content-security-policy')!;
  t.regex(policy, /default-src 'none'/);
  t.regex(policy, /script-src \S+\/post\.js(;|$)/);
  t.false(policy.includes('form-action'), 'the app may redirect');
  t.false(/<script(?![^>]* src=)/.test(page.html), 'no inline script');

  // Once the user has consented, there is no other page.
  const again = await browser.open(authorizeUrl(platform, app, POST));
  t.truthy(again.hiddenFields()['code']);
});

test('errors are posted too, of a user who denies and of a request without a page', async (t) => {
  const { platform } = await started();
  const own = await platform.registerApp();
  const browser = new Browser();
  const consent = await signIn(
    browser,
    await browser.open(authorizeUrl(platform, own, { ...POST, prompt: 'consent' })),
  );
  const denied = await browser.follow(await browser.submit(consent, 'Deny'));
  t.is(denied.status, 200);
  t.is(denied.actionOf(BUTTON).href, own.redirectUri);
  t.deepEqual(denied.hiddenFields(), {
    error: 'access_denied',
    error_description: 'the user denied the request',
    state: 'xyz',
    iss: platform.origin,
  });
  // The denial is of one request in one session.
  const { searchParams } = denied.url;
  const wider = new URL(denied.url);
  wider.searchParams.set('scope', 'schools:read');
  t.is((await browser.open(wider)).heading, 'Authorize Reports');
  t.is((await new Browser().open(denied.url)).heading, 'Sign in');
  t.truthy(searchParams.get('consent_proof'));

  const silent = await new Browser().get(authorizeUrl(platform, own, { ...POST, prompt: 'none' }));
  t.like(silent.hiddenFields(), { error: 'login_required', state: 'xyz' });
  const scope = await browser.get(authorizeUrl(platform, own, { ...POST, scope: 'unknown' }));
  t.like(scope.hiddenFields(), { error: 'invalid_scope', state: 'xyz' });
  const page = await new Browser().get(authorizeUrl(platform, own, { ...POST, scope: 'unknown' }));
  t.is(page.status, 400);
  t.is(page.heading, 'This app asks for too much');
});

test('an app that nobody registered is told of a denial', async (t) => {
  await using open = await startPlatform(documentOptions(), ON_LOOPBACK);
  const { id } = await serveDocument(t);
  const asked = { client: { id }, redirectUri: CALLBACK };
  const browser = new Browser(open.reach);
  const { parameters } = pkce();
  const consent = await signIn(
    browser,
    await browser.open(authorizeUrl(open, asked, { ...POST, ...parameters })),
  );
  const denied = await browser.follow(await browser.submit(consent, 'Deny'));
  t.is(denied.hiddenFields()['error'], 'access_denied');
});

test('the mode is refused without a page for it, and for a redirect URI that no form can be posted to', async (t) => {
  const { platform } = await started();
  const native = await platform.registerApp({
    redirectUris: ['com.example.app:/callback'],
    confidential: false,
    native: true,
  });
  const { parameters } = pkce();
  const page = await new Browser().get(authorizeUrl(platform, native, { ...POST, ...parameters }));
  t.is(page.status, 400);
  t.true(page.text.includes('unsupported_response_mode'));

  const bundled = pages();
  await using without = await startPlatform({
    interactions(flow) {
      const made = { ...bundled(flow) };
      delete made.formPost;
      return made;
    },
  });
  const other = await without.registerApp();
  for (const mode of ['form_post', 'gatehouse.form_post']) {
    const refused = await new Browser().get(authorizeUrl(without, other, { response_mode: mode }));
    t.is(refused.status, 400);
    t.true(refused.text.includes('unsupported_response_mode'));
  }
  const metadata = await fetch(without.url('/.well-known/oauth-authorization-server'));
  t.deepEqual(((await metadata.json()) as Record<string, unknown>)['response_modes_supported'], [
    'query',
    'fragment',
  ]);
});
