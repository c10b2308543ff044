import test from '../harness/test.ts';
import { fakeFlow } from './fake-flow.ts';
import type { FakeFlow, FakeSteps } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const RIGHT = { login: 'ann@school.example', password: ' right, blanks and all ' };

function signedOutFlow(change: FakeSteps = {}): FakeFlow {
  return fakeFlow({ flow: { currentUser: async () => undefined, ...change } });
}

test('the page outside an authorization names the platform, and keeps the return path, escaped', async (t) => {
  const flow = signedOutFlow();
  const site = await servePages(t, flow);
  const address = '/oauth/login?return_to=%2Fdeveloper%2Fapps%3Fa%3D1';
  const page = await site.get(address);
  t.is(page.status, 200);
  t.true(page.text.includes('Sign in to continue to Acme'));
  t.true(page.html.includes(`<form method="post" action="${address}" novalidate>`));
  t.notRegex(page.headers.get('content-security-policy') ?? '', /form-action/);
  const { html } = await site.get(`/oauth/login?return_to="><script>alert(1)</script>&'x`);
  t.notRegex(html, /<script|"'x/);

  const wrong = await site.post(address, { ...RIGHT, password: 'wrong-one' });
  t.is(wrong.status, 422);
  t.true(wrong.text.includes('There is a problem Email or password is incorrect.'));
  t.true(wrong.html.includes(`action="${address}"`));
  t.false(wrong.html.includes('wrong-one'));
  t.deepEqual(flow.calls, ['verifyPassword ann@school.example']);
});

test('the right password signs in and redirects to the return path', async (t) => {
  const flow = signedOutFlow({ accountPath: '/account/apps' });
  const site = await servePages(t, flow);
  for (const [query, location] of [
    ['?return_to=%2Fdeveloper%2Fapps', '/developer/apps'],
    ['', '/account/apps'],
    ['?return_to=https%3A%2F%2Fevil.example', '/account/apps'],
    ['?return_to=%2F%2Fevil.example', '/account/apps'],
    ['?return_to=%2Fa&return_to=%2Fb', '/account/apps'],
  ] as const) {
    const page = await site.post(`/oauth/login${query}`, RIGHT);
    t.is(page.status, 303, query);
    t.is(page.headers.get('location'), location, query);
    t.is(page.headers.get('cache-control'), 'no-store');
  }
  t.deepEqual(flow.calls.slice(0, 2), ['verifyPassword ann@school.example', 'logIn u1']);
  const withoutPaths = await servePages(t, signedOutFlow());
  t.is((await withoutPaths.post('/oauth/login', RIGHT)).headers.get('location'), '/');
});

test('a signed-in user is redirected, and one of a host with a login page is redirected there', async (t) => {
  const hosts = 'https://www.example/login?return_to=';
  for (const [flow, location] of [
    [fakeFlow(), '/developer/apps'],
    [signedOutFlow({ loginUrl: (path) => hosts + encodeURIComponent(path) }), `${hosts}%2Fdeveloper%2Fapps`],
  ] as const) {
    const site = await servePages(t, flow);
    const page = await site.get('/oauth/login?return_to=%2Fdeveloper%2Fapps');
    t.is(page.status, 303);
    t.is(page.headers.get('location'), location);
  }
});

test('the header of a signed-in user has links to the other pages; login and consent have none', async (t) => {
  const paths = { accountPath: '/account/apps' };
  const page = async (flow: FakeSteps, path = '/oauth/logout'): Promise<string> =>
    (await (await servePages(t, fakeFlow({ flow }))).get(path)).html;
  const withLink = (path: string | undefined): FakeSteps => ({
    ...paths,
    features: [
      {
        views: {},
        texts: { en: { 'page.reports': 'Your reports' }, de: { 'page.reports': 'Ihre Berichte' } },
        link: async () => (path === undefined ? undefined : { path, text: 'page.reports' }),
      },
    ],
  });
  const linked = await page(withLink('/reports'));
  for (const part of [
    '<bdi>ann@school.example</bdi>',
    '<a href="/account/apps">Connected apps</a>',
    '<a href="/reports">Your reports</a>',
    '<a href="/oauth/logout">Sign out</a>',
    '<a class="skip" href="#main">',
  ])
    t.true(linked.includes(part), part);
  // The user may not open the page of the feature.
  const other = await page(withLink(undefined));
  t.true(other.includes('Connected apps</a>'));
  t.false(other.includes('Your reports'));
  const bare = await page({});
  t.false(bare.includes('Connected apps'));
  t.true(bare.includes('Sign out</a>'));
  for (const prompt of ['login', 'consent'])
    t.false((await page(paths, `/oauth/interaction/${prompt}`)).includes('<header'));
});

test('the page of the logout asks before it ends the session, and the button ends it', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.get('/oauth/logout');
  t.is(page.status, 200);
  t.true(page.text.includes('Sign out of Acme? You are signed in as ann@school.example.'));
  t.regex(page.html, /<form method="post" action="\/oauth\/logout">/);
  t.regex(page.html, /<a class="button" href="\/">Stay signed in<\/a>/);
  t.regex(page.headers.get('content-security-policy') ?? '', /; form-action 'self'$/);
  t.deepEqual(flow.calls, []);
  const done = await site.post('/oauth/logout');
  t.is(done.status, 200);
  t.true(done.text.includes('You are signed out'));
  t.regex(done.html, /href="\/oauth\/login\?return_to=%2F">Sign in<\/a>/);
  t.deepEqual(flow.calls, ['logout']);
});

test('without a session the page of the logout says that no user is signed in', async (t) => {
  const site = await servePages(t, signedOutFlow());
  const page = await site.get('/oauth/logout');
  t.is(page.status, 200);
  t.true(page.text.includes('You are not signed in'));
  t.false(page.html.includes('<form'));
  t.regex(page.html, /href="\/oauth\/login\?return_to=%2F">Sign in<\/a>\s*<a [^>]*href="\/">Go to Acme</);
});
