import test from 'ava';
import { fakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

test('the page asks before it ends the session', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.get('/oauth/logout');
  t.is(page.status, 200);
  t.true(page.text.includes('Sign out of Acme? You are signed in as ann@school.example.'));
  t.regex(page.html, /<form method="post" action="\/oauth\/logout">/);
  t.is(
    page.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  );
  t.deepEqual(flow.calls, []);
});

test('without a session the page says that no user is signed in', async (t) => {
  const site = await servePages(t, fakeFlow({ flow: { currentUser: async () => undefined } }));
  const page = await site.get('/oauth/logout');
  t.is(page.status, 200);
  t.true(page.text.includes('You are not signed in'));
  t.false(page.html.includes('<form'));
  t.regex(page.html, /href="\/oauth\/login\?return_to=%2F">Sign in<\/a>\s*<a [^>]*href="\/">Go to Acme</);
});

test('the button ends the session', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.post('/oauth/logout');
  t.is(page.status, 200);
  t.true(page.text.includes('You are signed out'));
  t.regex(page.html, /href="\/oauth\/login\?return_to=%2F">Sign in<\/a>/);
  t.deepEqual(flow.calls, ['logout']);
});

test('a form of another site cannot end the session', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.post('/oauth/logout', {}, { 'sec-fetch-site': 'cross-site' });
  t.is(page.status, 403);
  t.deepEqual(flow.calls, []);
});
