import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, signedIn, signIn, signOut } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { schoolsWithoutFailure, startAgentServer } from '../mcp/agents.ts';
import {
  answer,
  beginOn,
  enter,
  errorOf,
  poll,
  registerDevice,
  requestCode,
  startDevicePlatform,
} from './device.ts';

const ALONE = { app: ({ auth }: { auth: Platform['auth'] }) => auth.callback() };
const SECURITY_FIELDS = ['content-security-policy', 'x-frame-options', 'cache-control', 'referrer-policy'];

const started = shared(async (stack) => {
  /** A platform behind a proxy, so that the device and the browser can have different addresses. */
  const platform = stack.use(
    await startDevicePlatform({ limits: { attempts: false }, trustProxy: true }, ALONE),
  );
  const app = await registerDevice(platform);
  return { platform, app };
});

async function codeFrom(address: string, userAgent = 'School-CLI/2.0 (Linux)'): Promise<string> {
  const { platform, app } = await started();
  const headers = { 'x-forwarded-for': address, 'user-agent': userAgent };
  const { body } = await requestCode(platform, app, { scope: 'schools:read' }, headers);
  return String(body?.['user_code']);
}

/** The page with the request, for a browser at an address. */
async function pageAt(address: string, userCode: string): Promise<{ text: string; html: string }> {
  const { platform } = await started();
  const browser = await signedIn(platform);
  const body = new URLSearchParams({ user_code: userCode });
  return browser.post(platform.url('/oauth/device'), body, { 'x-forwarded-for': address });
}

test.serial(
  'the page shows who asks, from where, since when, for what, and the code to compare',
  async (t) => {
    const userCode = await codeFrom('198.51.100.7');
    passTime(180);
    const { text } = await pageAt('192.0.2.1', userCode);
    t.regex(text, /Connect School CLI on a device\?/);
    t.regex(text, new RegExp(`The device in front of you must show this code: ${userCode}`));
    t.regex(text, /Did someone send you this code, or ask you to open this page\? Then choose Deny/);
    t.regex(text, /It will be able to: See your schools/);
    t.regex(text, /The request came from 198\.51\.100\.7 , not the network that you use now/);
    t.regex(text, /The program says that it is School-CLI\/2\.0 \(Linux\)/);
    t.regex(text, /When 3 minutes ago/);
    t.regex(text, /Signed in as ann@school\.example/);
  },
);

test.serial('a device in the same network is shown as one, for IPv6 in the same /64', async (t) => {
  for (const [device, browser, same] of [
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['2001:db8:1:2::a', '2001:db8:1:2:ffff::b', true],
    ['2001:db8:1:2::a', '2001:db8:1:3::a', false],
    ['unknown', 'unknown', false],
  ] as const) {
    const { text } = await pageAt(browser, await codeFrom(device));
    t.is(/ , the network that you use now/.test(text), same, `${device} ${browser}`);
    t.is(/not the network that you use now/.test(text), !same, `${device} ${browser}`);
  }
});

test.serial('what the device says is text: escaped, shortened, without controls', async (t) => {
  const pageFor = async (userAgent: string): Promise<string> =>
    (await pageAt('192.0.2.1', await codeFrom('192.0.2.1', userAgent))).html;
  t.true((await pageFor('<b onclick="x()">\'&"')).includes('&lt;b onclick=&#34;x()&#34;&gt;&#39;&amp;&#34;'));
  t.true((await pageFor(`Long/${'x'.repeat(8000)}`)).includes(`Long/${'x'.repeat(194)}…<`));
  t.false((await pageFor(' ')).includes('The program says'));
  const strangers = await pageAt('192.0.2.1', await codeFrom(`<script>${'x'.repeat(8000)}`));
  t.true(strangers.text.includes('The request came from not the network that you use now'), strangers.text);
});

function buttonsOf(page: string): string[] {
  return Array.from(page.matchAll(/<button( class="primary")?>(Connect|Authorize|Deny)</g), ([tag]) => tag);
}

test.serial('the buttons are in the order of the consent page, and none has the focus', async (t) => {
  const { platform } = await started();
  const reports = await platform.registerApp();
  const consent = await (await signedIn(platform)).open(authorizeUrl(platform, reports));
  const { html, text } = await pageAt('192.0.2.1', await codeFrom('192.0.2.1'));
  t.deepEqual(buttonsOf(html), ['<button class="primary">Connect<', '<button>Deny<']);
  t.deepEqual(buttonsOf(consent.html), ['<button class="primary">Authorize<', '<button>Deny<']);
  t.false(html.includes('autofocus'));
  t.regex(
    text,
    /You can disconnect it at any time under “Connected apps”\. It keeps this access for 5 years/,
  );
});

test.serial('a device without scopes gets what the user may do, which the page lists', async (t) => {
  const { platform, app } = await started();
  const { body } = await requestCode(platform, app, {}, { 'x-forwarded-for': '192.0.2.1' });
  const { text } = await pageAt('192.0.2.1', String(body?.['user_code']));
  t.regex(text, /on your behalf, with the permissions that you have\. View schools/);
});

test.serial(
  'all pages have the headers of the other pages, and their forms are refused from other sites',
  async (t) => {
    const { platform } = await started();
    const browser = await signedIn(platform);
    const form = await browser.open(platform.url('/oauth/device'));
    const asked = await enter(platform, browser, await codeFrom('192.0.2.1'));
    const logout = await browser.open(platform.url('/oauth/logout'));
    const fieldsOf = ({ response }: typeof form): unknown =>
      SECURITY_FIELDS.map((name) => response.headers.get(name));
    for (const page of [form, asked]) t.deepEqual(fieldsOf(page), fieldsOf(logout));
    for (const path of ['', '/approve', '/deny']) {
      const body = new URLSearchParams(asked.hiddenFields());
      const url = platform.url(`/oauth/device${path}`);
      const forged = await browser.post(url, body, {
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
      });
      t.is(forged.status, 403, path);
    }
  },
);

test.serial('the form for the code may lead to a login page of the host', async (t) => {
  await using own = await startDevicePlatform({
    login: { currentUser: () => undefined, url: 'https://accounts.example/login' },
  });
  const browser = new Browser();
  const form = await browser.open(own.url('/oauth/device'));
  t.notRegex(form.response.headers.get('content-security-policy') ?? '', /form-action/);
  const { location } = await browser.submit(form, 'Continue', { user_code: 'WDJB-MJHT' });
  t.is(location?.origin, 'https://accounts.example');
  t.is(location?.searchParams.get('return_to'), own.url('/oauth/device?user_code=WDJB-MJHT').href);
});

test.serial('the page of a user answers neither for another user nor after a logout', async (t) => {
  const { platform, app } = await started();
  const ann = await signedIn(platform);
  const bob = await signedIn(platform, 'bob@school.example', 'battery staple');
  const { device_code: code, user_code: userCode } = await beginOn(platform, app);
  const asked = await enter(platform, ann, userCode);
  const body = new URLSearchParams(asked.hiddenFields());
  await signOut(platform, ann);
  for (const browser of [bob, ann]) {
    for (const button of ['Connect', 'Deny']) {
      const { heading, status } = await browser.post(asked.actionOf(button), body);
      t.deepEqual([status, heading], [400, 'This sign-in is no longer open']);
    }
  }
  t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'authorization_pending']);
  const done = await answer(platform, await signedIn(platform), userCode);
  t.is(done.heading, 'Your device is connected');
});

test.serial('a code in the link is filled in, and must be confirmed', async (t) => {
  const { platform, app } = await started();
  const { user_code: userCode, verification_uri_complete: complete } = await beginOn(platform, app);
  const browser = await signedIn(platform);
  const form = await browser.open(complete);
  t.is(form.status, 200);
  t.regex(form.text, /Continue only if your device or command line shows exactly this code/);
  t.true(form.html.includes(`value="${userCode}"`));
  const strange = await browser.open(
    platform.url(`/oauth/device?user_code=${encodeURIComponent('"><script>')}`),
  );
  t.false(strange.html.includes('<script>'));
  const empty = await browser.submit(form, 'Continue', { user_code: ' ' });
  t.is(empty.status, 422);
  t.regex(empty.text, /Enter the code that the device shows\./);
});

test.serial('a URL of a posted form that is opened again leads to the form for the code', async (t) => {
  const { platform } = await started();
  const browser = await signedIn(platform);
  for (const path of ['approve', 'deny'])
    t.is((await browser.open(platform.url(`/oauth/device/${path}`))).heading, 'Connect a device');
});

test.serial(
  'the page names the tools that agents call with each scope, and offers only to look where that can be',
  async (t) => {
    const view = { description: 'See schools', permissions: ['view_schools'] } as const;
    const edit = { description: 'Change schools', permissions: ['edit_schools'] } as const;
    const close = { description: 'Close schools', permissions: ['close_schools'], optional: true } as const;
    for (const [scopes, answers] of [
      [{ view, edit: { ...edit, optional: true }, close }, ['Only look', 'All', 'Choose']],
      [{ view, edit, close }, []],
    ] as const) {
      const server = await startAgentServer(t, {
        schools: schoolsWithoutFailure(),
        scopes,
        options: { features: [devices()] },
      });
      server.person.permissions = ['view_schools', 'edit_schools', 'close_schools'];
      const { client } = await server.auth.clients.create({
        name: 'School CLI',
        grantType: 'device_code',
        confidential: false,
      });
      const app = { client, secret: '', redirectUri: '' };
      const platform = { url: (path: string) => new URL(path, server.origin) };
      const { user_code: userCode } = await beginOn(platform, app, {
        scope: 'view edit close',
        resource: server.url,
      });
      const browser = new Browser();
      await signIn(browser, await browser.open(platform.url('/oauth/login')));
      const page = await enter(platform, browser, userCode);
      t.regex(page.text, /Change schools Rename a school, Create a school/);
      t.deepEqual(
        page.answersOf('Connect').map(({ label }) => label),
        answers,
      );
    }
  },
);
