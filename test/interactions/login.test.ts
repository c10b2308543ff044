import test from 'ava';
import { TooManyAttemptsError } from '../../lib/errors.ts';
import { fakeFlow, reports } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const PAGE = '/oauth/interaction/login';
const RIGHT = { login: 'ann@school.example', password: ' right, blanks and all ' };

test('the page asks for email and password, and names the client', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.get(PAGE);
  t.is(page.status, 200);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.true(page.html.includes('<html lang="en">'));
  t.true(page.html.includes('<title>Sign in · Acme</title>'));
  t.true(page.text.includes('Sign in to continue to Reports'));
  t.regex(page.html, /<form method="post" action="\/oauth\/interaction\/login\/login" novalidate>/);
  t.regex(page.html, /<label for="login">Email<\/label>\s*<input id="login" name="login"[^>]* autofocus>/);
  t.regex(
    page.html,
    /<label for="password">Password<\/label>\s*<input id="password"[^>]*"current-password">/,
  );
  t.false(page.html.includes('<script'));
});

test('the Content-Security-Policy allows no foreign content, and does not block the redirect to the client', async (t) => {
  const site = await servePages(t, fakeFlow());
  const { headers } = await site.get(PAGE);
  t.is(
    headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  t.is(headers.get('x-frame-options'), 'DENY');
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('cache-control'), 'no-store');
  t.is(headers.get('referrer-policy'), 'same-origin');
});

test('the login hint is filled in, and the password field has the focus', async (t) => {
  const site = await servePages(t, fakeFlow({ login: { loginHint: 'ann@school.example' } }));
  const { html } = await site.get(PAGE);
  t.regex(html, /id="login"[^>]* value="ann@school.example">/);
  t.regex(html, /id="password"[^>]* autofocus>/);
});

test('the page is skipped when the host has a session of the user', async (t) => {
  const flow = fakeFlow({ flow: { skipLogin: async () => '/oauth/authorize/known' } });
  const site = await servePages(t, flow);
  const page = await site.get(PAGE);
  t.is(page.status, 303);
  t.is(page.headers.get('location'), '/oauth/authorize/known');
  t.is(page.headers.get('cache-control'), 'no-store');
});

test('the right password redirects; whitespace around the email is removed, in the password it is kept', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.post(`${PAGE}/login`, { ...RIGHT, login: ' ann@school.example ' });
  t.is(page.status, 303);
  t.is(page.headers.get('location'), '/oauth/authorize/login');
  t.deepEqual(flow.calls, ['authenticate ann@school.example', 'login login u1']);
});

test('a wrong password: the email is kept, the password is not, and the error does not say which was wrong', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.post(`${PAGE}/login`, { ...RIGHT, password: 'wrong-one' });
  t.is(page.status, 422);
  t.true(page.html.includes('<title>Error: Sign in · Acme</title>'));
  t.regex(page.html, /role="alert" tabindex="-1" autofocus aria-labelledby="problems"/);
  t.true(page.text.includes('There is a problem Email or password is incorrect.'));
  t.regex(page.html, /<a href="#login">Email or password is incorrect\.<\/a>/);
  t.is(page.html.split('Email or password is incorrect.').length, 2, 'it is said once');
  const refersToIt = 'aria-invalid="true" aria-describedby="problem-list">';
  t.true(page.html.includes(`value="ann@school.example" ${refersToIt}`));
  t.true(page.html.includes(`autocomplete="current-password" ${refersToIt}`));
  t.false(page.html.includes('wrong-one'));
  t.is(page.html.split('autofocus').length, 2);

  const other = await site.post(`${PAGE}/login`, { ...RIGHT, login: 'bob@school.example' });
  t.is(other.html.replaceAll('bob@', 'ann@'), page.html);
});

test('after too many attempts the page says when to try again, in minutes or seconds', async (t) => {
  let wait = 0;
  const authenticate = async (): Promise<never> => {
    throw new TooManyAttemptsError(wait);
  };
  const site = await servePages(t, fakeFlow({ flow: { authenticate } }));
  for (const [seconds, said] of [
    [900, 'Try again in 15 minutes.'],
    [841, 'Try again in 15 minutes.'],
    [91, 'Try again in 2 minutes.'],
    [90, 'Try again in 90 seconds.'],
    [1, 'Try again in 1 second.'],
  ] as const) {
    wait = seconds;
    const page = await site.post(`${PAGE}/login`, { ...RIGHT, password: 'wrong-one' });
    t.is(page.status, 429);
    t.is(page.headers.get('retry-after'), String(seconds));
    t.true(page.text.includes(`There is a problem Too many attempts to sign in. ${said}`), said);
    t.regex(page.html, /id="login"[^>]* value="ann@school.example"/);
    t.false(page.html.includes('wrong-one'));
    t.false(page.html.includes('aria-invalid'));
    t.is(page.html.split('autofocus').length, 2);
  }
});

test('each missing field is named, and authenticate() is not called', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const both = await site.post(`${PAGE}/login`, { login: '  ' });
  t.is(both.status, 422);
  t.true(both.text.includes('There is a problem Enter your email. Enter your password.'));
  t.regex(both.html, /id="login"[^>]* aria-describedby="problem-list">/);
  t.regex(both.html, /id="password"[^>]* aria-describedby="problem-list">/);

  const one = await site.post(`${PAGE}/login`, { login: 'ann@school.example', password: '' });
  t.is(one.status, 422);
  t.true(one.text.includes('There is a problem Enter your password.'));
  t.false(one.text.includes('Enter your email.'));
  t.deepEqual(flow.calls, []);
});

test('the login hint, the name of the client and the login are escaped everywhere', async (t) => {
  const hostile = `"><script>alert(1)</script>\u202E<%= 1 %>'&`;
  const escaped = '&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;';
  const flow = fakeFlow({ login: { loginHint: hostile, client: { ...reports, name: hostile } } });
  const site = await servePages(t, flow);
  for (const page of [
    await site.get(PAGE),
    await site.post(`${PAGE}/login`, { login: hostile, password: 'x' }),
  ]) {
    t.false(page.html.includes('<script'));
    t.true(page.html.includes(`<bdi>${escaped}&lt;%= 1 %&gt;&#39;&amp;</bdi>`));
    t.true(page.html.includes(`value="${escaped}`));
  }
});

test('a form of an earlier prompt, or of an unknown interaction, is 400 and says how to start again', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  for (const path of [
    '/oauth/interaction/consent/login',
    '/oauth/interaction/login/consent',
    '/oauth/interaction/login/deny',
    '/oauth/interaction/login/switch',
    '/oauth/interaction/gone/login',
    '/oauth/interaction/%00%ff/login',
  ]) {
    const page = await site.post(path, RIGHT);
    t.is(page.status, 400, path);
    t.true(page.text.includes('This sign-in is no longer open'), path);
    t.true(page.text.includes('Go back to the app and start again.'), path);
  }
  t.deepEqual(flow.calls, []);
});

test('a form of another site is refused before it is read', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.post(`${PAGE}/login`, RIGHT, { 'sec-fetch-site': 'cross-site' });
  t.is(page.status, 403);
  t.true(page.text.includes('This form came from another site'));
  t.deepEqual(flow.calls, []);
});

test('an invalid form is a page with its status', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const cases: [body: string, type: string, status: number, details: string][] = [
    ['{}', 'application/json', 415, 'Send the form as application/x-www-form-urlencoded.'],
    ['login=a&login=b', 'application/x-www-form-urlencoded', 400, 'A field of the form is repeated'],
    ['login=%FF', 'application/x-www-form-urlencoded', 400, 'The form is not percent-encoded UTF-8.'],
    [`login=${'a'.repeat(20_000)}`, 'application/x-www-form-urlencoded', 413, 'larger than 16384 bytes'],
  ];
  for (const [body, type, status, details] of cases) {
    const page = await site.post(`${PAGE}/login`, body, { 'content-type': type });
    t.is(page.status, status);
    t.true(page.text.includes('That form could not be read'));
    t.true(page.text.includes(details));
  }
  t.deepEqual(flow.calls, []);
});

test('the URL of a failed login shows the page again', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.get(`${PAGE}/login`);
  t.is(page.status, 303);
  t.is(page.headers.get('location'), PAGE);
});

test('an unexpected error is passed on', async (t) => {
  const flow = fakeFlow({
    flow: {
      authenticate: async () => {
        throw new TypeError('The user store is broken.');
      },
    },
  });
  const site = await servePages(t, flow);
  const page = await site.post(`${PAGE}/login`, RIGHT);
  t.is(page.status, 500);
  t.is(page.html, 'Internal Server Error');
});

test('below a base path, every URL on the page begins with it', async (t) => {
  const flow = fakeFlow({ flow: { basePath: '/auth' } });
  const site = await servePages(t, flow);
  const { html } = await site.get(PAGE);
  const addresses = [...html.matchAll(/(?:href|src|action)="([^"]+)"/g)].map(([, address]) => address);
  t.is(addresses.length, 5);
  for (const address of addresses) t.regex(address ?? '', /^\/auth\/oauth\//);
});
