import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { ClientInvalidError } from '../../lib/errors.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  await authorize(platform, await platform.registerApp({ firstParty: true }), { browser });
  return { platform };
});

const CALLBACK = 'https://reports.example/callback';

// A browser with a session: with a registered redirect URI it gets a code at once.
const browser = new Browser();

/** The error of the registration of a redirect URI; `undefined` if it is accepted. */
async function registrationError(uri: unknown, fields: object = {}): Promise<string | undefined> {
  const { platform } = await started();
  try {
    await platform.registerApp({ redirectUris: [uri as string], ...fields });
    return undefined;
  } catch (error) {
    if (!(error instanceof ClientInvalidError)) throw error;
    const [mistake, ...others] = error.fields;
    if (others.length > 0) throw error;
    return `${mistake!.field}: ${mistake!.message}`;
  }
}

const NATIVE = { native: true, confidential: false };

test('absolute https URIs and loopback http URIs are accepted', async (t) => {
  const { platform } = await started();
  for (const uri of [
    'https://app.example',
    'https://app.example:8443/a/b?c=d&e=f',
    'https://xn--bcher-kva.example/callback',
    'http://localhost:3000/callback',
    'http://127.1.2.3/cb',
    'http://[::1]:8/cb',
  ]) {
    const app = await platform.registerApp({ redirectUris: [uri], firstParty: true });
    const { location } = await browser.get(authorizeUrl(platform, app));
    t.truthy(location?.searchParams.get('code'), uri);
  }
});

test('other schemes, relative URIs, wildcards, fragments and user names are refused', async (t) => {
  const OTHER_SCHEME = 'use https; other schemes are for native apps';
  const BLANK = 'percent-encode spaces, control characters and letters outside of ASCII';
  const ABSOLUTE = 'give an absolute URI, such as https://app.example/callback';
  const USER = 'leave out the user name and password';
  const WILDCARD = 'wildcards are not matched; register each URI (RFC 9700 section 2.1)';
  const FRAGMENT = 'a redirect URI has no fragment (RFC 6749 section 3.1.2)';
  const FORM = 'write it as https://host/path';
  for (const [uri, message] of [
    ['javascript:alert(1)', OTHER_SCHEME],
    [' javascript:alert(1)', BLANK],
    ['\u0001javascript:alert(1)', BLANK],
    ['javascript://app.example/%0aalert(1)', OTHER_SCHEME],
    ['data:text/html,x', OTHER_SCHEME],
    ['blob:https://app.example/x', OTHER_SCHEME],
    ['file:///etc/passwd', OTHER_SCHEME],
    ['com.example.app:/callback', OTHER_SCHEME],
    ['urn:ietf:wg:oauth:2.0:oob', OTHER_SCHEME],
    ['ws://app.example/', OTHER_SCHEME],
    ['https://app.example/#', FRAGMENT],
    ['https://*.example/', WILDCARD],
    ['https://app.example/*', WILDCARD],
    ['https://user@app.example/', USER],
    ['https://user:password@app.example/', USER],
    ['https://@app.example/', USER],
    ['https://app.example\\@evil.example/', USER],
    ['https:app.example/', FORM],
    ['https:///app.example/', FORM],
    ['https:\\\\app.example/', FORM],
    ['HTTPS://app.example/', FORM],
    ['//app.example/', ABSOLUTE],
    ['/callback', ABSOLUTE],
    ['https://', ABSOLUTE],
    ['https://[::1/', ABSOLUTE],
    ['https://app example/', BLANK],
    ['https://app.example/\u0000', BLANK],
    ['https://bücher.example/', BLANK],
    ['https://app.example/\u202e', BLANK],
    ['', 'give a URI'],
    [`https://app.example/${'x'.repeat(2000)}`, 'at most 2000 characters'],
  ] as const) {
    t.is(await registrationError(uri), `redirectUris[0]: ${message}`, uri);
  }
});

test('native apps may register a private-use scheme: a reversed domain name, or a word', async (t) => {
  for (const uri of [
    'com.example.app:/callback',
    'com.example.app://callback',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'vscode://vscode.mcp/oauth',
    'myapp:/callback',
    'http://127.0.0.1/callback',
  ]) {
    t.is(await registrationError(uri, NATIVE), undefined, uri);
  }
  for (const uri of [
    'javascript:alert(1)',
    'javascript://app.example/%0aalert(1)',
    'vbscript:/x',
    'data:text/html,x',
    'file:///x',
    'blob:x',
    'view-source:/x',
    'chrome-extension://x/y',
    'ftp://app.example/',
    'mailto:/ann@app.example',
    'urn:/x',
    'intent://app.example/x',
    'ms-settings:/privacy',
    'microsoft-edge:/x',
    'search-ms:/x',
    'shell:/x',
    'x-apple.systempreferences:/x',
    'ssh://app.example/',
    'soap.beep://app.example/',
    'c:/callback',
    'myapp:callback',
  ]) {
    t.is(
      await registrationError(uri, NATIVE),
      'redirectUris[0]: use a scheme of your own, such as com.example.app:/callback (RFC 8252 section 7.1), and none of a protocol, a browser or a system',
      uri,
    );
  }
});

// The engine would refuse each request of such a client.
test('native apps may not register http outside of loopback addresses, nor https on them', async (t) => {
  const INSECURE_HOST = 'a native app uses http on 127.0.0.1, [::1] or localhost only (RFC 8252 section 7.3)';
  const ON_LOOPBACK = 'use http on a loopback address (RFC 8252 section 7.3)';
  for (const [uri, message] of [
    ['http://app.example/callback', INSECURE_HOST],
    ['http://127.0.0.2/callback', INSECURE_HOST],
    ['http://0.0.0.0/callback', INSECURE_HOST],
    ['https://127.0.0.1/callback', ON_LOOPBACK],
    ['https://localhost/callback', ON_LOOPBACK],
    ['https://[::1]/callback', ON_LOOPBACK],
  ])
    t.is(await registrationError(uri, NATIVE), `redirectUris[0]: ${message}`, uri);
});

const INSECURE =
  'use https; http is for loopback addresses only, such as http://localhost (RFC 9700 section 2.6)';

test('http is refused except for loopback addresses', async (t) => {
  for (const uri of [
    'http://app.example/callback',
    'http://localhost.example/callback',
    'http://127.0.0.1.example/callback',
    'http://10.0.0.7/callback',
    'http://0.0.0.0/callback',
    'http://[::2]/callback',
    'http://[::ffff:10.0.0.7]/callback',
    'http://portal/callback',
  ]) {
    t.is(await registrationError(uri), `redirectUris[0]: ${INSECURE}`, uri);
    t.is(await registrationError(uri, { confidential: false }), `redirectUris[0]: ${INSECURE}`, uri);
  }
});

test('an empty list, a value that is not a list, and a list for client credentials are refused', async (t) => {
  const { platform } = await started();
  for (const [redirectUris, message] of [
    [[], /^redirectUris: an authorization code client needs at least one$/],
    [undefined, /^redirectUris: an authorization code client needs at least one$/],
    [CALLBACK, /^redirectUris: give an array of strings/],
    [[1], /^redirectUris: give an array of strings/],
    [[[CALLBACK]], /^redirectUris: give an array of strings/],
    [{ 0: CALLBACK }, /^redirectUris: give an array of strings/],
  ] as const)
    await t.throwsAsync(platform.registerApp({ redirectUris } as object), { message });
  await t.throwsAsync(platform.registerApp({ grantType: 'client_credentials', redirectUris: [CALLBACK] }), {
    message: 'redirectUris: only an authorization code client has redirect URIs',
  });
});

test('an update is checked like a registration', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  for (const redirectUris of [['javascript:alert(1)'], [], ['https://*.example/'], ['http://app.example/']]) {
    await t.throwsAsync(platform.auth.clients.update(app.client.id, { redirectUris }), {
      instanceOf: ClientInvalidError,
    });
  }
  t.is((await runCodeFlow(platform, app)).status, 200);
});
