import test from '../harness/test.ts';
import { TooManyAttemptsError } from '../../lib/errors.ts';
import { fakeFlow, reports } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const PAGE = '/oauth/interaction/login';
const RIGHT = { login: 'ann@school.example', password: ' right, blanks and all ' };

test('the page asks for email and password, and names the client', async (t) => {
  const site = await servePages(t, fakeFlow());
  const { headers, html, status, text } = await site.get(PAGE);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  t.true(html.includes('<html lang="en">'));
  t.true(html.includes('<title>Sign in · Acme</title>'));
  t.true(text.includes('Sign in to continue to Reports'));
  // The app may be one to which the user has consented before.
  t.regex(text, /You will be sent to https:\/\/reports\.example $/);
  t.regex(html, /<form method="post" action="\/oauth\/interaction\/login\/login" novalidate>/);
  t.regex(html, /<label for="login">Email<\/label>\s*<input id="login" name="login"[^>]* autofocus>/);
  t.regex(html, /<label for="password">Password<\/label>\s*<input id="password"[^>]*"current-password">/);
  // For password managers, and the keyboards of phones.
  t.regex(html, /id="login"[^>]* inputmode="email"/);
  t.regex(html, /id="login"[^>]* autocomplete="username"/);
  t.notRegex(html, /id="password"[^>]* maxlength/);
  t.false(html.includes('<script'));
});

test('the Content-Security-Policy allows no foreign content, and does not block the redirect to the client', async (t) => {
  const site = await servePages(t, fakeFlow());
  t.like(Object.fromEntries((await site.get(PAGE)).headers), {
    'content-security-policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
  });
});

test('the login hint is filled in, and the password field has the focus; URLs begin with the base path', async (t) => {
  const flow = fakeFlow({ flow: { basePath: '/auth' }, login: { loginHint: 'ann@school.example' } });
  const { html } = await (await servePages(t, flow)).get(PAGE);
  t.regex(html, /id="login"[^>]* value="ann@school.example">/);
  t.regex(html, /id="password"[^>]* autofocus>/);
  const addresses = [...html.matchAll(/(?:href|src|action)="([^"]+)"/g)].map(([, address]) => address);
  t.is(addresses.length, 5);
  for (const address of addresses) t.regex(address ?? '', /^\/auth\/oauth\//);
});

test('the page is skipped when the host has a session of the user; the URL of its form leads to it', async (t) => {
  const flow = fakeFlow({ flow: { skipLogin: async () => '/oauth/authorize/known' } });
  const site = await servePages(t, flow);
  for (const [path, location] of [
    [PAGE, '/oauth/authorize/known'],
    [`${PAGE}/login`, PAGE],
  ] as const) {
    const page = await site.get(path);
    t.is(page.status, 303);
    t.is(page.headers.get('location'), location);
    t.is(page.headers.get('cache-control'), 'no-store');
  }
});

test('the right password redirects; whitespace around the email is removed, in the password it is kept', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const page = await site.post(`${PAGE}/login`, { ...RIGHT, login: ' ann@school.example ' });
  t.is(page.status, 303);
  t.is(page.headers.get('location'), '/oauth/authorize/login');
  t.deepEqual(flow.calls, ['verifyPassword ann@school.example', 'login login u1']);
});

test('a wrong password: the email is kept, the password is not, and the error does not say which was wrong', async (t) => {
  const site = await servePages(t, fakeFlow());
  const { html, status, text } = await site.post(`${PAGE}/login`, { ...RIGHT, password: 'wrong-one' });
  t.is(status, 422);
  t.true(html.includes('<title>Error: Sign in · Acme</title>'));
  t.regex(html, /role="alert" tabindex="-1" autofocus aria-labelledby="problems"/);
  t.true(text.includes('There is a problem Email or password is incorrect.'));
  t.regex(html, /<a href="#login">Email or password is incorrect\.<\/a>/);
  t.is(html.split('Email or password is incorrect.').length, 2, 'it is said once');
  const refersToIt = 'aria-invalid="true" aria-describedby="problem-list">';
  t.true(html.includes(`value="ann@school.example" ${refersToIt}`));
  t.true(html.includes(`autocomplete="current-password" ${refersToIt}`));
  t.false(html.includes('wrong-one'));
  t.is(html.split('autofocus').length, 2);

  const other = await site.post(`${PAGE}/login`, { ...RIGHT, login: 'bob@school.example' });
  t.is(other.html.replaceAll('bob@', 'ann@'), html);
});

test('after too many attempts the page says when to try again, in minutes or seconds', async (t) => {
  for (const [seconds, said] of [
    [841, 'Try again in 15 minutes.'],
    [91, 'Try again in 2 minutes.'],
    [90, 'Try again in 90 seconds.'],
    [1, 'Try again in 1 second.'],
  ] as const) {
    const verifyPassword = async (): Promise<never> => Promise.reject(new TooManyAttemptsError(seconds));
    const site = await servePages(t, fakeFlow({ flow: { verifyPassword } }));
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

test('each missing field is named, and an invalid form is a page with its status; neither is checked', async (t) => {
  const flow = fakeFlow();
  const site = await servePages(t, flow);
  const form = 'application/x-www-form-urlencoded';
  const unreadable = 'That form could not be read';
  for (const [body, type, status, ...said] of [
    ['login=+', form, 422, 'There is a problem Enter your email. Enter your password.'],
    ['login=ann&password=', form, 422, 'There is a problem Enter your password.'],
    ['{}', 'application/json', 415, unreadable, 'Send the form as application/x-www-form-urlencoded.'],
    ['login=a&login=b', form, 400, unreadable, 'A field of the form is repeated'],
    ['login=%FF', form, 400, unreadable, 'The form is not percent-encoded UTF-8.'],
    [`login=${'a'.repeat(20_000)}`, form, 413, unreadable, 'larger than 16384 bytes'],
  ] as const) {
    const page = await site.post(`${PAGE}/login`, body, { 'content-type': type });
    t.is(page.status, status);
    for (const words of said) t.true(page.text.includes(words), words);
    if (status === 422) t.regex(page.html, /id="password"[^>]* aria-describedby="problem-list">/);
  }
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
    'consent/login',
    'login/consent',
    'login/deny',
    'login/switch',
    'gone/login',
    '%00%ff/login',
  ]) {
    const page = await site.post(`/oauth/interaction/${path}`, RIGHT);
    t.is(page.status, 400, path);
    t.true(page.text.includes('This sign-in is no longer open'), path);
    t.true(page.text.includes('Go back to the app and start again.'), path);
  }
  // A form that belongs to nothing is not read, however long it is.
  const long = { ...RIGHT, password: 'a'.repeat(20_000) };
  for (const path of ['gone/login', 'consent/login', 'login/consent'])
    t.is((await site.post(`/oauth/interaction/${path}`, long)).status, 400, path);
  t.deepEqual(flow.calls, []);
});

test('an unexpected error is passed on', async (t) => {
  const broken = new TypeError('The user store is broken.');
  const verifyPassword = async (): Promise<never> => Promise.reject(broken);
  const site = await servePages(t, fakeFlow({ flow: { verifyPassword } }));
  const page = await site.post(`${PAGE}/login`, RIGHT);
  t.deepEqual([page.status, page.html], [500, 'Internal Server Error']);
});
