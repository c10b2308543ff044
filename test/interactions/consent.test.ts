import test from 'ava';
import { ann, asked, fakeFlow, reports } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const PAGE = '/oauth/interaction/consent';

test('the page names the client, the user, and the redirect host, with a form for each answer', async (t) => {
  const site = await servePages(t, fakeFlow());
  const { headers, html, status, text } = await site.get(PAGE);
  t.is(status, 200);
  t.true(html.includes('<title>Authorize Reports · Acme</title>'));
  t.true(html.includes('<h1>Authorize <bdi>Reports</bdi></h1>'));
  t.true(text.includes('Reports is asking for access to your Acme account.'));
  t.true(text.includes('It will be able to act on your behalf, with the permissions that you have.'));
  t.true(text.includes('Signed in as ann@school.example Not you?'));
  t.true(text.includes('You will be sent to https://reports.example'));
  t.false(html.includes('callback'));
  t.regex(
    html,
    /<form id="authorize" method="post" action="\/oauth\/interaction\/consent\/consent">\s*<button class="primary">Authorize<\/button>/,
  );
  t.regex(html, /<form method="post" action="\/oauth\/interaction\/consent\/deny">\s*<button>Deny<\/button>/);
  t.is(
    headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
});

test('scopes are listed by their descriptions', async (t) => {
  const scopes = [
    asked({ name: 'schools:read', description: 'See your schools' }),
    asked({ name: 'reports:write', description: 'Write <reports>' }),
  ];
  const site = await servePages(t, fakeFlow({ consent: { scopes, canSwitchUser: false } }));
  const { text } = await site.get(PAGE);
  t.true(text.includes('It will be able to: See your schools Write &lt;reports&gt;'));
  t.false(text.includes('schools:read'));
  t.false(text.includes('on your behalf'));
  // The host's session decides who the user is.
  t.true(text.includes('Signed in as ann@school.example'));
  t.false(text.includes('Not you?'));
});

test('each answer is posted and redirects to the URL of the flow; its URL leads to the page again', async (t) => {
  for (const step of ['consent', 'deny', 'switch']) {
    const flow = fakeFlow();
    const site = await servePages(t, flow);
    t.is((await site.get(`${PAGE}/${step}`)).headers.get('location'), PAGE);
    t.deepEqual(flow.calls, []);
    const page = await site.post(`${PAGE}/${step}`);
    t.is(page.status, 303);
    t.is(page.headers.get('location'), `/oauth/authorize/${step}`);
    t.deepEqual(flow.calls, [`${step} consent`]);
  }
});

test('a user without email is shown by name, without name by id; the target as a host, or as a program', async (t) => {
  const named = { id: 'u1', name: 'Ann Lee' };
  const bare = { id: 'u1', name: '', email: '' };
  for (const [user, name, redirectUri, shown] of [
    [named, 'Ann Lee', 'http://127.0.0.1:51234/callback', 'http://127.0.0.1:51234'],
    // A Cyrillic letter.
    [bare, 'u1', 'https://rep\u043Erts.example/', 'https://xn--reprts-yqf.example'],
    [
      ann,
      'ann@school.example',
      'com.example.reports:/callback',
      'the program on this device that opens com.example.reports: links',
    ],
  ] as const) {
    const site = await servePages(t, fakeFlow({ consent: { user, redirectUri } }));
    const page = await site.get(PAGE);
    t.true(page.text.includes(`Signed in as ${name}`));
    t.true(page.html.includes(`<dd><bdi>${shown}</bdi></dd>`), redirectUri);
  }
});

test('names of clients and users are escaped', async (t) => {
  const flow = fakeFlow({
    consent: {
      client: { ...reports, name: `</h1><script>alert(1)</script>\u202Ecod\u2066\n` },
      user: { ...ann, email: '<img src=x onerror=alert(1)>' },
      scopes: [asked({ name: 'a', description: '<b onclick=alert(1)>' })],
      redirectUri: `https://reports.example/"><script>`,
    },
  });
  const { html } = await (await servePages(t, flow)).get(PAGE);
  const escaped = '&lt;/h1&gt;&lt;script&gt;alert(1)&lt;/script&gt;cod';
  t.true(html.includes(`<h1>Authorize <bdi>${escaped}</bdi></h1>`));
  t.true(html.includes(`<title>Authorize ${escaped} · Acme</title>`));
  t.true(html.includes('&lt;img src=x onerror=alert(1)&gt;'));
  t.true(html.includes('<li>&lt;b onclick=alert(1)&gt;</li>'));
  t.notRegex(html, /<script|<img src=x|<b /);
});
