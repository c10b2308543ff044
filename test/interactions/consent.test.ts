import test from '../harness/test.ts';
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

const READ = asked({
  name: 'read',
  description: 'See your schools',
  tools: ['List schools'],
  readOnly: true,
});
const WRITE = asked({
  name: 'write',
  description: 'Change your schools',
  optional: true,
  tools: ['Rename a school', 'Create a school'],
});

test('without scopes, the page lists what the user may do, in its language and at which API', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const permissions = names.map((name) => ({ name, description: `Do ${name}` }));
  const resource = { resource: 'https://api.example', name: 'https://api.example' };
  const site = await servePages(t, fakeFlow({ consent: { permissions, resource } }), {
    brand: { name: 'Acme' },
    text: { 'permission.a': 'Do the first' },
  });
  const { html, text } = await site.get(PAGE);
  t.regex(html, /<section class="caution access" aria-labelledby="access">/);
  t.regex(text, /with the permissions that you have\. Do the first Do b Do c Do d Do e 2 more Do f Do g/);
  t.regex(text, /Access to an API without a name: https:\/\/api\.example/);
});

test('where agents may write: three answers, and each scope with its tools', async (t) => {
  for (const checked of [true, false]) {
    const scopes = [READ, { ...WRITE, checked }];
    const { html, text } = await (await servePages(t, fakeFlow({ consent: { scopes } }))).get(PAGE);
    t.regex(text, /What may it do\? Only look All Choose/);
    t.regex(text, /To look See your schools List schools/);
    t.regex(text, /To change something Change your schools Rename a school, Create a school/);
    const radios = Array.from(html.matchAll(/<input type="radio"[^>]*value="([^"]*)"([^>]*)>/g), (found) => [
      found[1],
      / checked/.test(found[2]!),
    ]);
    t.deepEqual(radios, [
      ['read', false],
      ['read write', checked],
      ['', false],
    ]);
  }
  const many = { ...WRITE, tools: ['a', 'b', 'c', 'd', 'e', 'f'] };
  const { text } = await (await servePages(t, fakeFlow({ consent: { scopes: [READ, many] } }))).get(PAGE);
  t.regex(text, /6 tools a, b, c, d, e, f/);
});

test('there are no answers where nothing changes, where there is nothing to look at, or without tools', async (t) => {
  for (const scopes of [
    [READ],
    [WRITE],
    [
      { ...READ, tools: [] },
      { ...WRITE, tools: [] },
    ],
  ]) {
    const { html } = await (await servePages(t, fakeFlow({ consent: { scopes } }))).get(PAGE);
    t.false(html.includes('type="radio"'));
  }
});

test('an answer grants the scopes of its value, and the last one those whose boxes are checked', async (t) => {
  const scopes = [READ, WRITE];
  for (const [form, granted] of [
    [{ access: 'read' }, 'read'],
    [{ access: 'read write' }, 'read write'],
    // A box that was checked before another answer was chosen.
    [{ access: 'read', 'scope-0': 'write' }, 'read'],
    [{ access: '', 'scope-0': 'write' }, 'write'],
    [{}, ''],
  ] as const) {
    const flow = fakeFlow({ consent: { scopes } });
    await (await servePages(t, flow)).post(`${PAGE}/consent`, form);
    t.deepEqual(flow.calls, [`consent consent ${granted}`.trim()], JSON.stringify(form));
  }
});

test('the page says who has registered the app, how long it has access, and why users are asked again', async (t) => {
  const ofDocument = { id: 'https://agent.example/client.json', source: 'metadata_document' } as const;
  const day = 86_400;
  for (const [client, consent, said] of [
    [{}, {}, /Registered By Acme .*keeps this access for 90 days at most\./],
    [{ ownerId: 'dora' }, { lifetime: 365 * day }, /By a user of Acme .*for 1 year at most\./],
    [{ source: 'dynamic' }, { lifetime: 500 * day }, /By the app itself .*for 500 days at most\./],
    [
      ofDocument,
      { lifetime: 3600 },
      /By nobody: it describes itself at agent\.example .*for 1 hour at most\./,
    ],
  ] as const) {
    const flow = fakeFlow({ consent: { ...consent, client: { ...reports, ...client } } });
    const { text } = await (await servePages(t, flow)).get(PAGE);
    t.regex(text, said);
    t.false(text.includes('You are asked each time'));
  }
  const onDevice = fakeFlow({ flow: { accountPath: '/account/apps' }, consent: { remembered: false } });
  const { text } = await (await servePages(t, onDevice)).get(PAGE);
  t.regex(text, /You are asked each time: the app is on this device, where other programs could pass/);
  t.regex(text, /You can disconnect it at any time under “Connected apps”\./);
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
