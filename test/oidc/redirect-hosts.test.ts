import test from 'ava';
import type { ExecutionContext } from 'ava';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { platformOn } from './on-databases.ts';

const GOOD = 'https://reports.example/callback';
const NEW = 'https://evil.example/callback';
const TIMES = 5;

/** Opens the authorization URL of an app in the browser of a signed-in user. */
async function ask(
  platform: Platform,
  app: RegisteredApp,
  browser: Browser,
  parameters: Record<string, string> = {},
): Promise<Page> {
  return browser.open(authorizeUrl(platform, app, parameters));
}

function isAsked(page: Page): boolean {
  return page.heading === 'Authorize Reports' && page.location === undefined;
}

/** Registers a native app, which is public. */
async function registerNative(
  platform: Platform,
  redirectUris: readonly string[],
  firstParty = false,
): Promise<RegisteredApp> {
  return platform.registerApp({ native: true, confidential: false, redirectUris, firstParty });
}

async function signedIn(platform: Platform, t: ExecutionContext): Promise<Browser> {
  const browser = new Browser();
  t.truthy((await authorize(platform, await platform.registerApp(), { browser })).get('code'));
  return browser;
}

onEachDatabase('consent is asked for again for a redirect URI on a new host', async (t, _, address) => {
  const platform = await platformOn(t, address);
  const browser = new Browser();
  for (let time = 0; time < TIMES; time += 1) {
    const app = await platform.registerApp();
    for (const scope of ['', 'schools:read'])
      await authorize(platform, app, { browser, parameters: { scope } });
    await platform.auth.clients.update(app.client.id, { redirectUris: [GOOD, NEW] });

    for (const scope of ['', 'schools:read']) {
      const page = await ask(platform, app, browser, { redirect_uri: NEW, scope });
      t.true(isAsked(page), `${scope}: ${page.location?.href ?? page.heading}`);
      t.true(page.text.includes('You will be sent to https://evil.example'));
      const silent = await ask(platform, app, browser, { redirect_uri: NEW, scope, prompt: 'none' });
      t.is(silent.location?.searchParams.get('error'), 'consent_required');
      const known = await ask(platform, app, browser, { scope });
      t.truthy(known.location?.searchParams.get('code'), 'the host with consent');
    }
  }
});

onEachDatabase('the scopes of a consent are stored per redirect host', async (t, _, address) => {
  const platform = await platformOn(t, address);
  const browser = new Browser();
  const app = await platform.registerApp({ redirectUris: [GOOD, NEW] });
  await authorize(platform, app, { browser, parameters: { scope: 'schools:read schools:write' } });
  await authorize(platform, app, { browser, parameters: { redirect_uri: NEW, scope: 'schools:read' } });
  const codeAt = async (redirect_uri: string, scope: string): Promise<string | null | undefined> =>
    (await ask(platform, app, browser, { redirect_uri, scope })).location?.searchParams.get('code');
  t.truthy(await codeAt(GOOD, 'schools:write'));
  t.truthy(await codeAt(NEW, 'schools:read'));
  t.falsy(await codeAt(NEW, 'schools:write'));
  t.falsy(await codeAt(NEW, ''));
});

onEachDatabase('another port of a host needs a new consent, another path does not', async (t, _, address) => {
  const platform = await platformOn(t, address);
  const browser = new Browser();
  const [path, port] = ['https://reports.example/other', 'https://reports.example:8443/callback'];
  const app = await platform.registerApp({ redirectUris: [GOOD, path, port] });
  await authorize(platform, app, { browser });
  t.truthy((await ask(platform, app, browser, { redirect_uri: path })).location?.searchParams.get('code'));
  t.true(isAsked(await ask(platform, app, browser, { redirect_uri: port })));
});

onEachDatabase(
  'consent is asked for each time when the redirect stays on the device (RFC 8252 section 8.6)',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const browser = await signedIn(platform, t);
    const uris = [
      'http://127.0.0.1/callback',
      'http://127.0.0.1:8400/callback',
      'com.example.one:/callback',
      'cursor://one/callback',
    ];
    for (const firstParty of [false, true]) {
      const app = await registerNative(platform, uris, firstParty);
      for (const redirect_uri of [
        ...uris,
        'http://127.0.0.1:50001/callback',
        'http://127.0.0.1:50001/callback',
      ]) {
        const page = await ask(platform, app, browser, { ...pkce().parameters, redirect_uri });
        t.true(isAsked(page), `${redirect_uri}: ${page.location?.href}`);
        const end = await browser.follow(await browser.submit(page, 'Authorize'));
        t.truthy(end.location?.searchParams.get('code'), redirect_uri);
        t.true(end.location?.href.startsWith(redirect_uri), end.location?.href);
      }
      // Another program may have the registered port, or the scheme, by now.
      for (const redirect_uri of uris) {
        const page = await ask(platform, app, browser, { ...pkce().parameters, redirect_uri });
        t.true(isAsked(page), `${redirect_uri}: ${page.location?.href}`);
        const silent = await ask(platform, app, browser, {
          ...pkce().parameters,
          redirect_uri,
          prompt: 'none',
        });
        t.is(silent.location?.searchParams.get('error'), 'consent_required', redirect_uri);
      }
      const list = await browser.open(platform.url('/account/apps'));
      t.true(list.text.includes('Reports'), 'the user can disconnect it');
    }
  },
);

/** Hosts over https that are the device itself; the certificate of one is no proof of which program has the port. */
const LOOPBACK_HOSTS = [
  'localhost',
  'LOCALHOST:8443',
  'localhost.',
  'app.localhost',
  '127.0.0.1',
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
  await using platform = await startPlatform();
  const browser = await signedIn(platform, t);
  const uris = LOOPBACK_HOSTS.map((host) => `https://${host}/callback`);
  uris.push('http://localhost:8400/callback', 'http://127.0.0.1/callback');
  for (const firstParty of [false, true]) {
    const app = await platform.registerApp({ confidential: false, redirectUris: uris, firstParty });
    for (const redirect_uri of uris) {
      const parameters = { ...pkce().parameters, redirect_uri };
      const page = await ask(platform, app, browser, parameters);
      t.true(isAsked(page), `${redirect_uri}: ${page.location?.href}`);
      const end = await browser.follow(await browser.submit(page, 'Authorize'));
      t.truthy(end.location?.searchParams.get('code'), redirect_uri);
      t.true(isAsked(await ask(platform, app, browser, parameters)), redirect_uri);
      const { location } = await ask(platform, app, browser, { ...parameters, prompt: 'none' });
      t.is(location?.searchParams.get('error'), 'consent_required', redirect_uri);
    }
  }
});

test('consent is remembered for hosts that only look like the device', async (t) => {
  await using platform = await startPlatform();
  const browser = await signedIn(platform, t);
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
    const page = await ask(platform, app, browser, { redirect_uri });
    t.true(isAsked(page), redirect_uri);
    await browser.follow(await browser.submit(page, 'Authorize'));
    const again = await ask(platform, app, browser, { redirect_uri });
    t.truthy(again.location?.searchParams.get('code'), redirect_uri);
  }
});

onEachDatabase(
  'a first-party app with a secret needs no consent for a loopback address',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const browser = await signedIn(platform, t);
    const app = await platform.registerApp({
      redirectUris: ['http://localhost:8400/callback'],
      firstParty: true,
    });
    t.truthy((await ask(platform, app, browser)).location?.searchParams.get('code'));
  },
);

onEachDatabase(
  'a first-party native app with a claimed https redirect URI needs no consent',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const browser = await signedIn(platform, t);
    const app = await registerNative(platform, ['https://app.reports.example/callback'], true);
    const page = await ask(platform, app, browser, pkce().parameters);
    t.truthy(page.location?.searchParams.get('code'));
  },
);

onEachDatabase(
  'a redirect URI that is removed while the consent page is open gets no redirect',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const browser = await signedIn(platform, t);
    for (let time = 0; time < TIMES; time += 1) {
      const app = await platform.registerApp({ redirectUris: [GOOD, NEW] });
      const page = await ask(platform, app, browser, { redirect_uri: NEW });
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
      const silent = await ask(platform, app, browser, { redirect_uri: NEW, prompt: 'none' });
      t.is(silent.location?.searchParams.get('error'), 'consent_required');
    }
  },
);

onEachDatabase(
  'the consent proof in the redirect is accepted only for its request and session',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const browser = await signedIn(platform, t);
    const app = await registerNative(platform, ['http://127.0.0.1/callback']);
    const redirect_uri = 'http://127.0.0.1:50001/callback';
    const { parameters } = pkce();
    const page = await ask(platform, app, browser, { ...parameters, redirect_uri });
    const answer = await browser.submit(page, 'Authorize');
    const proof = answer.location!.searchParams.get('consent_proof')!;
    t.truthy(proof);
    const asked = { ...parameters, redirect_uri, consent_proof: proof };
    const changes: Record<string, string>[] = [
      { redirect_uri: 'http://127.0.0.1:50002/callback' },
      { scope: 'schools:read' },
      { code_challenge: pkce().parameters['code_challenge'] },
      { consent_proof: `${proof.slice(0, -2)}xx` },
      { consent_proof: page.url.pathname.split('/').at(-1)! },
    ];
    for (const change of changes) {
      const again = await ask(platform, app, browser, { ...asked, ...change });
      t.true(isAsked(again), JSON.stringify(change));
    }
    const other = await signedIn(platform, t);
    t.true(isAsked(await ask(platform, app, other, asked)), 'another session');
    t.truthy((await browser.follow(answer)).location?.searchParams.get('code'));
  },
);
