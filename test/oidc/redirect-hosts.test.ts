import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';

import type { Browser, Page } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import {
  authorize,
  authorizeUrl,
  BOTH_SCOPES,
  hasCode,
  signedIn,
  startPlatform,
} from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const GOOD = 'https://reports.example/callback';
const NEW = 'https://evil.example/callback';

const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform({
      scopes: BOTH_SCOPES,
      resources: { 'https://documents.example/v1': {} },
    }),
  );
  const browser = await signedIn(platform);
  return { platform, browser };
});

/** Opens the authorization URL of an app in the browser of a signed-in user. */
async function ask(app: RegisteredApp, parameters: Record<string, string> = {}, by?: Browser): Promise<Page> {
  const { browser, platform } = await started();
  return (by ?? browser).open(authorizeUrl(platform, app, parameters));
}

function isAsked(page: Page): boolean {
  return page.heading === 'Authorize Reports' && page.location === undefined;
}

/** Registers a native app, which is public. */
async function registerNative(redirectUris: readonly string[], firstParty = false): Promise<RegisteredApp> {
  const { platform } = await started();
  return platform.registerApp({ native: true, confidential: false, redirectUris, firstParty });
}

/** Checks that consent is asked for each time at a redirect URI, and that it leads to a code there. */
async function isAskedEachTime(t: ExecutionContext, app: RegisteredApp, redirect_uri: string): Promise<void> {
  const { browser } = await started();
  const parameters = { ...pkce().parameters, redirect_uri };
  const page = await ask(app, parameters);
  t.true(isAsked(page), `${redirect_uri}: ${page.location?.href}`);
  const end = await browser.follow(await browser.submit(page, 'Authorize'));
  t.true(hasCode(end), redirect_uri);
  t.true(end.location?.href.startsWith(new URL(redirect_uri).href), end.location?.href);
  t.true(isAsked(await ask(app, parameters)), redirect_uri);
  const silent = await ask(app, { ...parameters, prompt: 'none' });
  t.is(silent.location?.searchParams.get('error'), 'consent_required', redirect_uri);
}

test('consent is asked for again for a redirect URI on a new host', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp();
  for (const scope of ['', 'schools:read'])
    await authorize(platform, app, { browser, parameters: { scope } });
  await platform.auth.clients.update(app.client.id, { redirectUris: [GOOD, NEW] });
  for (const scope of ['', 'schools:read']) {
    const page = await ask(app, { redirect_uri: NEW, scope });
    t.true(isAsked(page), `${scope}: ${page.location?.href ?? page.heading}`);
    t.true(page.text.includes('You will be sent to https://evil.example'));
    const silent = await ask(app, { redirect_uri: NEW, scope, prompt: 'none' });
    t.is(silent.location?.searchParams.get('error'), 'consent_required');
    t.true(hasCode(await ask(app, { scope })), 'the host with consent');
  }
});

test('the scopes of a consent are stored per redirect host', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp({ redirectUris: [GOOD, NEW] });
  await authorize(platform, app, { browser, parameters: { scope: 'schools:read schools:write' } });
  await authorize(platform, app, { browser, parameters: { redirect_uri: NEW, scope: 'schools:read' } });
  for (const [redirect_uri, scope, isGiven] of [
    [GOOD, 'schools:write', true],
    [NEW, 'schools:read', true],
    [NEW, 'schools:write', false],
    [NEW, '', false],
  ] as const)
    t.is(hasCode(await ask(app, { redirect_uri, scope })), isGiven, `${redirect_uri} ${scope}`);
});

test('another port of a host needs a new consent, another path does not', async (t) => {
  const { platform, browser } = await started();
  const [path, port] = ['https://reports.example/other', 'https://reports.example:8443/callback'];
  const app = await platform.registerApp({ redirectUris: [GOOD, path, port] });
  await authorize(platform, app, { browser });
  t.true(hasCode(await ask(app, { redirect_uri: path })));
  t.true(isAsked(await ask(app, { redirect_uri: port })));
});

test('consent is asked for each time when the redirect stays on the device (RFC 8252 section 8.6)', async (t) => {
  const { browser, platform } = await started();
  const uris = [
    'http://127.0.0.1/callback',
    'http://127.0.0.1:8400/callback',
    'com.example.one:/callback',
    'cursor://one/callback',
  ];
  for (const firstParty of [false, true]) {
    const app = await registerNative(uris, firstParty);
    for (const uri of [...uris, 'http://127.0.0.1:50001/callback']) await isAskedEachTime(t, app, uri);
    const { html } = await browser.open(platform.url('/account/apps'));
    t.true(html.includes(`/account/apps/${app.client.id}/revoke`), 'the user can disconnect it');
  }
});

/** Hosts over https that are the device itself; the certificate of one is no proof of which program has the port. */
const LOOPBACK_HOSTS = [
  'localhost',
  'LOCALHOST:8443',
  'localhost.',
  'app.localhost',
  '127.1.2.3:8443',
  '2130706433',
  '0x7f.1',
  '0.0.0.0',
  '[::1]:8443',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:0.0.0.0]',
];

test('consent is asked for each time for the device itself, whatever it is called, also of first-party apps without a secret', async (t) => {
  const { platform } = await started();
  const redirectUris = LOOPBACK_HOSTS.map((host) => `https://${host}/callback`);
  redirectUris.push('http://localhost:8400/callback', 'http://127.0.0.1/callback');
  for (const firstParty of [false, true]) {
    const app = await platform.registerApp({ confidential: false, redirectUris, firstParty });
    for (const uri of firstParty ? redirectUris.slice(-3) : redirectUris) await isAskedEachTime(t, app, uri);
  }
});

test('consent is remembered for hosts that only look like the device', async (t) => {
  const { platform, browser } = await started();
  const hosts = [
    'localhost.example',
    'notlocalhost',
    '127.0.0.1.example',
    '128.0.0.1',
    '[::2]',
    '[2001:db8::1]',
  ];
  const app = await platform.registerApp({ redirectUris: hosts.map((host) => `https://${host}/callback`) });
  for (const redirect_uri of app.client.redirectUris) {
    const page = await ask(app, { redirect_uri });
    t.true(isAsked(page), redirect_uri);
    await browser.follow(await browser.submit(page, 'Authorize'));
    t.true(hasCode(await ask(app, { redirect_uri })), redirect_uri);
  }
});

test('a first-party app with a secret or a claimed https redirect URI needs no consent', async (t) => {
  const { platform } = await started();
  const redirectUris = ['http://localhost:8400/callback'];
  t.true(hasCode(await ask(await platform.registerApp({ redirectUris, firstParty: true }))));
  const native = await registerNative(['https://app.reports.example/callback'], true);
  t.true(hasCode(await ask(native, pkce().parameters)));
});

test('a redirect URI that is removed while the consent page is open gets no redirect', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp({ redirectUris: [GOOD, NEW] });
  const page = await ask(app, { redirect_uri: NEW });
  await platform.auth.clients.update(app.client.id, { redirectUris: [GOOD] });
  const denied = await browser.submit(page, 'Deny');
  t.is(denied.status, 400);
  t.is(denied.location, undefined, denied.location?.href);
  const end = await browser.follow(await browser.submit(page, 'Authorize'));
  t.is(end.location, undefined, end.location?.href);
  t.is(end.status, 400);
  t.is(end.heading, 'This link does not lead back to the app');
  // A consent that was given too late is not one for later.
  await platform.auth.clients.update(app.client.id, { redirectUris: [GOOD, NEW] });
  const silent = await ask(app, { redirect_uri: NEW, prompt: 'none' });
  t.is(silent.location?.searchParams.get('error'), 'consent_required');
});

test('the consent proof in the redirect is accepted only for its request and session', async (t) => {
  const { browser, platform } = await started();
  const app = await registerNative(['http://127.0.0.1/callback']);
  const { parameters } = pkce();
  const asked = { ...parameters, redirect_uri: 'http://127.0.0.1:50001/callback' };
  const page = await ask(app, asked);
  const answer = await browser.submit(page, 'Authorize');
  const consent_proof = answer.location!.searchParams.get('consent_proof')!;
  t.truthy(consent_proof);
  for (const change of [
    { redirect_uri: 'http://127.0.0.1:50002/callback' },
    { scope: 'schools:read' },
    { resource: 'https://documents.example/v1' },
    { code_challenge: pkce().parameters.code_challenge },
    { consent_proof: `${consent_proof.slice(0, -2)}xx` },
    { consent_proof: page.url.pathname.split('/').at(-1)! },
  ])
    t.true(isAsked(await ask(app, { ...asked, consent_proof, ...change })), JSON.stringify(change));
  const elsewhere = await signedIn(platform);
  t.true(isAsked(await ask(app, { ...asked, consent_proof }, elsewhere)), 'another session');
  t.true(hasCode(await browser.follow(answer)));
});
