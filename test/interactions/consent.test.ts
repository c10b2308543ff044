import test from 'ava';
import { ann, asked, fakeFlow, reports } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const PAGE = '/oauth/interaction/consent';

test('the page names the client, the user, and the redirect host', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.get(PAGE);
  t.is(page.status, 200);
  t.true(page.html.includes('<title>Authorize Reports · Acme</title>'));
  t.true(page.html.includes('<h1>Authorize <bdi>Reports</bdi></h1>'));
  t.true(page.text.includes('Reports is asking for access to your Acme account.'));
  t.true(page.text.includes('It will be able to act on your behalf, with the permissions that you have.'));
  t.true(page.text.includes('Signed in as ann@school.example Not you?'));
  t.true(page.text.includes('You will be sent to https://reports.example'));
  t.false(page.html.includes('callback'));
  t.is(
    page.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
});

test('scopes are listed by their descriptions', async (t) => {
  const scopes = [
    asked({ name: 'schools:read', description: 'See your schools' }),
    asked({ name: 'reports:write', description: 'Write <reports>' }),
  ];
  const site = await servePages(t, fakeFlow({ consent: { scopes } }));
  const page = await site.get(PAGE);
  t.true(page.text.includes('It will be able to: See your schools Write &lt;reports&gt;'));
  t.false(page.text.includes('schools:read'));
  t.false(page.text.includes('on your behalf'));
});

test('"Authorize" and "Deny" are two buttons, each in its own form', async (t) => {
  const site = await servePages(t, fakeFlow());
  const { html } = await site.get(PAGE);
  t.regex(
    html,
    /<form id="authorize" method="post" action="\/oauth\/interaction\/consent\/consent">\s*<button class="primary">Authorize<\/button>/,
  );
  t.regex(html, /<form method="post" action="\/oauth\/interaction\/consent\/deny">\s*<button>Deny<\/button>/);
});

for (const step of ['consent', 'deny', 'switch']) {
  test(`${step} is posted and redirects to the URL of the flow`, async (t) => {
    const flow = fakeFlow();
    const site = await servePages(t, flow);
    const page = await site.post(`${PAGE}/${step}`);
    t.is(page.status, 303);
    t.is(page.headers.get('location'), `/oauth/authorize/${step}`);
    t.deepEqual(flow.calls, [`${step} consent`]);
  });

  test(`${step} needs a POST from the same origin`, async (t) => {
    const flow = fakeFlow();
    const site = await servePages(t, flow);
    t.is((await site.get(`${PAGE}/${step}`)).headers.get('location'), PAGE);
    const page = await site.post(`${PAGE}/${step}`, {}, { 'sec-fetch-site': 'same-site' });
    t.is(page.status, 403);
    t.deepEqual(flow.calls, []);
  });
}

test(`"Not you?" is not shown when the host's session decides`, async (t) => {
  const site = await servePages(t, fakeFlow({ consent: { canSwitchUser: false } }));
  const page = await site.get(PAGE);
  t.true(page.text.includes('Signed in as ann@school.example'));
  t.false(page.text.includes('Not you?'));
});

test('a user without email is shown by name, without name by id', async (t) => {
  const named = await servePages(t, fakeFlow({ consent: { user: { id: 'u1', name: 'Ann Lee' } } }));
  t.true((await named.get(PAGE)).text.includes('Signed in as Ann Lee'));
  const bare = await servePages(t, fakeFlow({ consent: { user: { id: 'u1', name: '', email: '' } } }));
  t.true((await bare.get(PAGE)).text.includes('Signed in as u1'));
});

test('the redirect target is shown as a host, or as the program that a scheme opens', async (t) => {
  const destinations = {
    'com.example.reports:/callback': 'the program on this device that opens com.example.reports: links',
    'http://127.0.0.1:51234/callback': 'http://127.0.0.1:51234',
    // A Cyrillic letter.
    'https://rep\u043Erts.example/': 'https://xn--reprts-yqf.example',
  };
  for (const [redirectUri, shown] of Object.entries(destinations)) {
    const site = await servePages(t, fakeFlow({ consent: { redirectUri } }));
    const page = await site.get(PAGE);
    t.true(page.html.includes(`<dd><bdi>${shown}</bdi></dd>`), redirectUri);
  }
});

test('names of clients and users are escaped', async (t) => {
  const name = `</h1><script>alert(1)</script>\u202Ecod\u2066\n`;
  const site = await servePages(
    t,
    fakeFlow({
      consent: {
        client: { ...reports, name },
        user: { ...ann, email: '<img src=x onerror=alert(1)>' },
        scopes: [asked({ name: 'a', description: '<b onclick=alert(1)>' })],
        redirectUri: `https://reports.example/"><script>`,
      },
    }),
  );
  const { html } = await site.get(PAGE);
  t.true(html.includes('<h1>Authorize <bdi>&lt;/h1&gt;&lt;script&gt;alert(1)&lt;/script&gt;cod</bdi></h1>'));
  t.true(
    html.includes('<title>Authorize &lt;/h1&gt;&lt;script&gt;alert(1)&lt;/script&gt;cod · Acme</title>'),
  );
  t.true(html.includes('&lt;img src=x onerror=alert(1)&gt;'));
  t.true(html.includes('<li>&lt;b onclick=alert(1)&gt;</li>'));
  t.notRegex(html, /<script|<img src=x|<b /);
});
