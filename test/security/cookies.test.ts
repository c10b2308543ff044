import test from '../harness/test.ts';

import { startProxy } from '../embedding/proxy.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, signOut, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { requestClientToken } from '../harness/tokens.ts';
import type { Middleware } from 'koa';

/** A Set-Cookie line and the path of its request. */
interface Line {
  readonly at: string;
  readonly line: string;
}

/** Middleware that records each Set-Cookie line. */
const recording =
  (lines: Line[]): Middleware =>
  async ({ req, res }, next) => {
    const at = req.url ?? '';
    res.once('finish', () => {
      for (const line of [res.getHeader('set-cookie') ?? []].flat()) lines.push({ at, line: String(line) });
    });
    await next();
  };

/** Each step that a user can take in a browser, and requests of apps. */
async function runAllSteps(platform: Platform): Promise<void> {
  const browser = new Browser(platform.reach);
  const app = await platform.registerApp();
  const service = await platform.registerService();
  await requestClientToken(platform, service);
  const denied = await signIn(browser, await browser.open(authorizeUrl(platform, app)));
  await browser.follow(await browser.submit(denied, 'Deny'));
  await authorize(platform, app, { browser });
  const asked = await browser.open(authorizeUrl(platform, app, { prompt: 'consent' }));
  const other = await browser.follow(await browser.submit(asked, 'Not you?'));
  await signIn(browser, other, 'bob@school.example', 'battery staple');
  await browser.open(platform.url('/account/apps'));
  await signOut(platform, browser);
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  await browser.open(platform.url('/oauth/interaction/unknown'));
  await browser.open(authorizeUrl(platform, app, { client_id: 'unknown' }));
  await platform.api('/identity');
}

const ISSUERS = [
  { name: 'http', seen: undefined, path: '' },
  { name: 'http, below a path', seen: undefined, path: '/auth' },
  { name: 'https, behind a proxy that ends TLS', seen: 'https://platform.example', path: '' },
  { name: 'https, behind such a proxy, below a path', seen: 'https://platform.example', path: '/auth' },
];

for (const { name, seen, path } of ISSUERS) {
  test(`every cookie is HttpOnly, SameSite=Lax and for its path and host only: ${name}`, async (t) => {
    const lines: Line[] = [];
    await using proxy = await startProxy((passed, headers) => ({ path: passed, headers }));
    await using platform = await startPlatform(
      {},
      {
        path,
        before: [recording(lines)],
        inFront(origin) {
          proxy.forwardTo(origin);
          return seen ?? proxy.origin;
        },
        reach: (url) => (url.origin === seen ? new URL(url.pathname + url.search, proxy.origin) : url),
      },
    );
    await runAllSteps(platform);

    const secure = seen !== undefined;
    const { port } = new URL(platform.origin);
    const suffix = path.replace('/', '_');
    const session = secure
      ? `${path === '' ? '__Host-' : '__Secure-'}gatehouse_session${suffix}`
      : `gatehouse_session_${port}${suffix}`;
    const device = session.replace('session', 'device');
    const places = new Map([session, device].map((own) => [own, new RegExp(`^${path || '/'}$`)]));
    const met = new Set<string>();
    for (const { at, line } of lines) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const [, cookie = '', value = ''] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
      const base = cookie.replace(/\.sig$/, '');
      met.add(base);
      t.regex(value, /^[\w-]*$/, `${at}: ${line}`);
      const names = attributes.map((attribute) => attribute.replace(/=.*/, ''));
      const expected = ['httponly', 'path', 'samesite', ...(secure ? ['secure'] : [])];
      t.deepEqual(names.filter((one) => one !== 'expires').toSorted(), expected, `${at}: ${line}`);
      t.true(attributes.includes('samesite=lax'), line);
      t.regex(/path=([^;]*)/.exec(line)?.[1] ?? '', places.get(base) ?? /^there is no such cookie$/, line);
    }
    t.deepEqual([...met].toSorted(), [...places.keys()].toSorted());
    t.true(
      lines.some(({ line }) => line.startsWith(`${session}=;`)),
      'signing out removes the session',
    );
    t.true(
      lines.some(({ line }) => line.startsWith(`${device}=`)) &&
        !lines.some(({ line }) => line.startsWith(`${device}=;`)),
      'and leaves the device cookie',
    );
    for (const { at } of lines) t.regex(at, /\/oauth\/(?:authorize|interaction|login|logout)\b/);
  });
}

test('a copied session cookie does not work after the logout', async (t) => {
  await using platform = await startPlatform();
  const app = await platform.registerApp({ firstParty: true });
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const cookie = browser.cookieField;
  const ask = authorizeUrl(platform, app, { prompt: 'none' });
  const before = await new Browser().get(ask, { cookie });
  t.truthy(before.location?.searchParams.get('code'));
  await signOut(platform, browser);
  const refused = await new Browser().get(ask, { cookie });
  t.is(refused.location?.searchParams.get('error'), 'login_required');
  const page = await new Browser().get(platform.url('/account/apps'), { cookie });
  t.is(page.location?.pathname, '/oauth/login');
});
