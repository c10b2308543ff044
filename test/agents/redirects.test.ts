import test from '../harness/test.ts';

import { serveDocument } from './documents.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorize, authorizeUrl } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { AGENT, appOf, registered, startOpen } from './apps.ts';

const SILENT = { prompt: 'none' };

test('no link sends a visitor to an app that registered itself, before the user has agreed to be sent there', async (t) => {
  const platform = await startOpen(t);
  const app = await appOf(platform, await registered(platform));
  const scope = 'schools:read';
  const visitor = new Browser();
  const signedIn = new Browser();
  t.truthy((await authorize(platform, await platform.registerApp(), { browser: signedIn })).get('code'));

  for (const [browser, error] of [
    [visitor, 'login_required'],
    [signedIn, 'consent_required'],
  ] as const) {
    const page = await browser.get(authorizeUrl(platform, app, { ...SILENT, scope }));
    t.is(page.status, 400, error);
    t.is(page.location, undefined, error);
    t.true(page.text.includes(error), page.text);
  }
  for (const wrong of [{ scope: 'unknown' }, { resource: 'https://evil.example/' }, { request: 'x' }]) {
    for (const browser of [visitor, signedIn]) {
      const page = await browser.get(authorizeUrl(platform, app, { ...SILENT, ...wrong }));
      t.is(page.status, 400, JSON.stringify(wrong));
      t.is(page.location, undefined, JSON.stringify(wrong));
    }
  }

  t.truthy((await authorize(platform, app, { browser: signedIn, parameters: { scope } })).get('code'));
  const agreed = await signedIn.get(authorizeUrl(platform, app, { ...SILENT, scope }));
  t.truthy(agreed.location?.searchParams.get('code'));
  const more = await signedIn.get(authorizeUrl(platform, app, { ...SILENT, scope, prompt: 'none consent' }));
  t.is(more.location, undefined, 'no contradiction of prompts is sent anywhere either');
  const again = await visitor.get(authorizeUrl(platform, app, { ...SILENT, scope }));
  t.is(again.status, 400, 'what one user has agreed to is not agreed for another visitor');
});

/** Ways to ask for an answer at the redirect URI, each with a mistake or without a login. */
const ASKED: readonly Record<string, string>[] = [
  SILENT,
  { ...SILENT, response_mode: 'fragment' },
  { ...SILENT, response_mode: 'form_post' },
  { ...SILENT, response_mode: 'query.jwt' },
  { ...SILENT, response_mode: 'web_message' },
  { ...SILENT, max_age: '0' },
  { ...SILENT, id_token_hint: 'x' },
  { ...SILENT, response_type: 'token' },
  { ...SILENT, response_type: 'none' },
  { ...SILENT, code_challenge: 'short', code_challenge_method: 'S256' },
  { ...SILENT, request_uri: 'urn:ietf:params:oauth:request_uri:x' },
  { ...SILENT, registration: '{}' },
  { ...SILENT, state: 'x'.repeat(6000) },
  { prompt: 'login none' },
  { prompt: 'create' },
  { response_mode: 'form_post', scope: 'unknown' },
  { response_type: 'code id_token' },
  { code_challenge_method: 'plain' },
  { request: 'eyJhbGciOiJub25lIn0.e30.' },
  { ui_locales: 'x'.repeat(7000) },
];

/** Whether a response sends the browser, or its form, to an app. */
function leadsToApp({ html, location }: Page): boolean {
  return (
    location?.hostname.endsWith('agent.example') === true ||
    /(?:action|href|url)=["']?https:\/\/[a-z.]*agent\.example/.test(html)
  );
}

test('no mistake in a request, and no response mode, sends a browser to an app that nobody registered', async (t) => {
  const platform = await startOpen(t, { documents: { scopes: ['schools:read'] }, mounting: ON_LOOPBACK });
  const { id } = await serveDocument(t);
  const dynamic = await appOf(platform, await registered(platform));
  const document = { ...dynamic, client: { ...dynamic.client, id } };
  const signedIn = new Browser();
  t.truthy((await authorize(platform, await platform.registerApp(), { browser: signedIn })).get('code'));
  for (const app of [dynamic, document]) {
    for (const browser of [new Browser(), signedIn]) {
      for (const asked of ASKED) {
        const url = authorizeUrl(platform, app, { scope: 'schools:read', ...asked });
        const posted = browser.post(new URL(url.pathname, url), url.searchParams);
        for (const page of [await browser.get(url), await posted, await browser.open(url)])
          t.false(leadsToApp(page), `${JSON.stringify(asked)}: ${page.status} ${page.location?.href}`);
      }
    }
  }
});

test('a user who has agreed to one host of an app is not sent to another, and to that one for any API', async (t) => {
  const api = 'https://api.example/v1';
  const platform = await startOpen(t, {
    resources: { [api]: { name: 'Documents', scopes: { read: { description: 'Read', permissions: [] } } } },
    registration: { scopes: ['schools:read', 'read'] },
  });
  const [one, other] = ['https://agent.example/callback', 'https://other.agent.example/callback'];
  const metadata = { client_name: 'Agent', redirect_uris: [one, other], scope: 'schools:read read' };
  const app = await appOf(platform, await registered(platform, metadata));
  const browser = new Browser();
  const parameters = { resource: api, scope: 'read' };
  t.truthy((await authorize(platform, app, { browser, parameters })).get('code'));
  const sent = await browser.get(authorizeUrl(platform, app, { ...SILENT, scope: 'schools:read' }));
  t.is(sent.location?.searchParams.get('error'), 'consent_required');
  const silent = { ...SILENT, redirect_uri: other };
  for (const scope of ['schools:read', 'unknown']) {
    const page = await browser.get(authorizeUrl(platform, app, { ...silent, scope }));
    t.is(page.status, 400);
    t.is(page.location, undefined);
  }
});

test('an app gets the errors of prompt=none if the operator registered it, or the user has agreed to be sent there', async (t) => {
  const platform = await startOpen(t, { registration: { scopes: ['schools:read', 'schools:write'] } });
  const own = await new Browser().get(authorizeUrl(platform, await platform.registerApp(), SILENT));
  t.is(own.location?.searchParams.get('error'), 'login_required');
  const metadata = { ...AGENT, scope: 'schools:read schools:write' };
  const app = await appOf(platform, await registered(platform, metadata));
  const browser = new Browser();
  t.truthy((await authorize(platform, app, { browser, parameters: { scope: 'schools:read' } })).get('code'));
  const page = await browser.get(authorizeUrl(platform, app, { ...SILENT, scope: 'schools:write' }));
  t.is(page.location?.origin, 'https://agent.example');
  t.is(page.location?.searchParams.get('error'), 'consent_required');
});
