import test from 'ava';
import { PermissionMissingError } from '../../lib/errors.ts';
import type { Developer } from '../../lib/contracts/index.ts';
import { fakeFlow } from './fake-flow.ts';
import type { FakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const RIGHT = { login: 'ann@school.example', password: ' right, blanks and all ' };

function signedOutFlow(change: Partial<FakeFlow> = {}): FakeFlow {
  return fakeFlow({ flow: { currentUser: async () => undefined, ...change } });
}

test('the page outside an authorization names the platform, and keeps the return path', async (t) => {
  const site = await servePages(t, signedOutFlow());
  const page = await site.get('/oauth/login?return_to=%2Fdeveloper%2Fapps%3Fa%3D1');
  t.is(page.status, 200);
  t.true(page.text.includes('Sign in to continue to Acme'));
  t.true(
    page.html.includes(
      '<form method="post" action="/oauth/login?return_to=%2Fdeveloper%2Fapps%3Fa%3D1" novalidate>',
    ),
  );
  t.notRegex(page.headers.get('content-security-policy') ?? '', /form-action/);
});

test('the right password signs in and redirects to the return path', async (t) => {
  const flow = signedOutFlow({ accountPath: '/account/apps' });
  const site = await servePages(t, flow);
  const cases = [
    ['/oauth/login?return_to=%2Fdeveloper%2Fapps', '/developer/apps'],
    ['/oauth/login', '/account/apps'],
    ['/oauth/login?return_to=https%3A%2F%2Fevil.example', '/account/apps'],
    ['/oauth/login?return_to=%2F%2Fevil.example', '/account/apps'],
    ['/oauth/login?return_to=%2Fa&return_to=%2Fb', '/account/apps'],
  ] as const;
  for (const [address, location] of cases) {
    const page = await site.post(address, RIGHT);
    t.is(page.status, 303, address);
    t.is(page.headers.get('location'), location, address);
    t.is(page.headers.get('cache-control'), 'no-store');
  }
  t.deepEqual(flow.calls.slice(0, 2), ['authenticate ann@school.example', 'signIn u1']);
  const withoutPaths = await servePages(t, signedOutFlow());
  t.is((await withoutPaths.post('/oauth/login', RIGHT)).headers.get('location'), '/');
});

test('a wrong password is refused with the same page', async (t) => {
  const flow = signedOutFlow();
  const site = await servePages(t, flow);
  const page = await site.post('/oauth/login?return_to=%2Fx', { ...RIGHT, password: 'wrong-one' });
  t.is(page.status, 422);
  t.true(page.text.includes('There is a problem Email or password is incorrect.'));
  t.regex(page.html, /action="\/oauth\/login\?return_to=%2Fx"/);
  t.false(page.html.includes('wrong-one'));
  t.deepEqual(flow.calls, ['authenticate ann@school.example']);
});

test('the return path is escaped', async (t) => {
  const site = await servePages(t, signedOutFlow());
  const { html } = await site.get(`/oauth/login?return_to="><script>alert(1)</script>&'x`);
  t.notRegex(html, /<script|"'x/);
});

test('a signed-in user is redirected', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.get('/oauth/login?return_to=%2Fdeveloper%2Fapps');
  t.is(page.status, 303);
  t.is(page.headers.get('location'), '/developer/apps');
});

test('with a login page of the host, the user is redirected there', async (t) => {
  const site = await servePages(
    t,
    signedOutFlow({ loginUrl: (path) => `https://www.example/login?return_to=${encodeURIComponent(path)}` }),
  );
  const page = await site.get('/oauth/login?return_to=%2Fdeveloper%2Fapps');
  t.is(page.status, 303);
  t.is(page.headers.get('location'), 'https://www.example/login?return_to=%2Fdeveloper%2Fapps');
});

test('a form of another site does not sign in', async (t) => {
  const flow = signedOutFlow();
  const site = await servePages(t, flow);
  const page = await site.post('/oauth/login', RIGHT, { 'sec-fetch-site': 'cross-site' });
  t.is(page.status, 403);
  t.deepEqual(flow.calls, []);
});

test('the header of a signed-in user has links to the other pages', async (t) => {
  const paths = { accountPath: '/account/apps', developerPath: '/developer/apps' };
  const page = async (flow: Partial<FakeFlow>): Promise<string> =>
    (await (await servePages(t, fakeFlow({ flow }))).get('/oauth/logout')).html;

  const developer = await page({ ...paths, developer: async () => ({}) as Developer });
  t.true(developer.includes('<bdi>ann@school.example</bdi>'));
  t.true(developer.includes('<a href="/account/apps">Connected apps</a>'));
  t.true(developer.includes('<a href="/developer/apps">Your apps</a>'));
  t.true(developer.includes('<a href="/oauth/logout">Sign out</a>'));
  t.true(developer.includes('<a class="skip" href="#main">'));

  const other = await page({
    ...paths,
    developer: async () => {
      throw new PermissionMissingError('manage_apps', 'Missing permission to manage apps.');
    },
  });
  t.false(other.includes('Your apps'));
  const bare = await page({});
  t.false(bare.includes('Connected apps'));
  t.true(bare.includes('Sign out</a>'));
});

test('the login and consent pages have no header', async (t) => {
  const site = await servePages(t, fakeFlow({ flow: { accountPath: '/account/apps' } }));
  for (const path of ['/oauth/interaction/login', '/oauth/interaction/consent']) {
    t.false((await site.get(path)).html.includes('<header'));
  }
});
