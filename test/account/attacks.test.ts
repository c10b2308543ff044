import test from 'ava';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { REPORTS } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';

function many(count: number): string {
  return Array.from({ length: count }, (_, index) => `https://a.example/${index}`).join('\n');
}

const ONCE = 'x'.repeat(36);

/** Each path below the page of an app, and a valid form for each path that takes one. */
const PAGES = [
  '',
  '/permissions',
  '/secrets',
  '/activity',
  '/revoke',
  '/disable',
  '/enable',
  '/delete',
  '/secrets/SECRET/delete',
];
const FORMS: Readonly<Record<string, Record<string, string>>> = {
  '': { name: 'Mine now', version: 'VERSION', redirectUris: 'https://evil.example/' },
  '/permissions': { version: 'VERSION', 'permission-0': 'view_schools' },
  '/secrets': { once: ONCE, label: 'mine', expires: '' },
  '/secrets/SECRET/delete': {},
  '/revoke': {},
  '/disable': {},
  '/enable': {},
  '/delete': {},
};

test('pages and forms of an app of another user answer as for an app that does not exist', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const foreign = await registerFor('emil', { name: 'Alien', permissions: ['close_schools'] });
  const [secret] = await auth.clients.secrets(foreign.client.id);
  const own = await registerFor('dora');
  const browser = await signInAs('dora');
  const missing = 'f8d2a9d4-3f2c-4a52-9d2f-0d5f0e3b8f10';
  const at = (id: string, path: string): URL =>
    url(`/developer/apps/${id}${path.replace('SECRET', secret!.id)}`);
  const bare = ({ html }: Page): string => html.replaceAll(foreign.client.id, 'ID').replaceAll(missing, 'ID');

  for (const path of PAGES) {
    const [foreignPage, missingPage] = [
      await browser.open(at(foreign.client.id, path)),
      await browser.open(at(missing, path)),
    ];
    t.is(foreignPage.status, 404, path);
    t.is(foreignPage.heading, 'There is nothing here', path);
    t.is(bare(foreignPage), bare(missingPage), path);
    t.false(foreignPage.html.includes('Alien'), path);
  }
  for (const [path, form] of Object.entries(FORMS)) {
    const fields = new URLSearchParams({ ...form, version: String(foreign.client.updatedAt) });
    const [foreignPage, missingPage] = [
      await browser.post(at(foreign.client.id, path), fields),
      await browser.post(at(missing, path), fields),
    ];
    t.is(foreignPage.status, 404, path);
    t.is(bare(foreignPage), bare(missingPage), path);
  }
  // The own app, with the id of a secret of the other app.
  t.is((await browser.open(at(own.client.id, '/secrets/SECRET/delete'))).status, 404);
  await browser.post(at(own.client.id, '/secrets/SECRET/delete'), new URLSearchParams());

  t.deepEqual(await auth.clients.find(foreign.client.id), foreign.client);
  t.deepEqual(await auth.clients.secrets(foreign.client.id), [secret!]);
  const list = await browser.open(url('/developer/apps'));
  t.false(list.html.includes('Alien'));
  const after = await browser.open(url(`/developer/apps?after=${foreign.client.id}`));
  t.is(after.html, (await browser.open(url(`/developer/apps?after=${missing}`))).html);
});

test('only a signed-in developer can send a form', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const [secret] = await auth.clients.secrets(client.id);
  const ann = await signInAs('ann');
  const signedOut = new Browser();
  for (const [path, form] of Object.entries(FORMS)) {
    const address = url(`/developer/apps/${client.id}${path.replace('SECRET', secret!.id)}`);
    const fields = new URLSearchParams({ ...form, version: String(client.updatedAt) });
    t.is((await ann.post(address, fields)).status, 403, path);
    const refused = await signedOut.post(address, fields);
    t.is(refused.status, 403, path);
    t.is(refused.heading, 'You are no longer signed in', path);
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.secrets(client.id), [secret!]);
});

test('a bearer token does not open the pages', async (t) => {
  const { registerFor, token, url } = await openDeveloperPlatform(t);
  const { client, secret } = await registerFor('dora', { permissions: ['manage_apps', 'manage_all_apps'] });
  const { body } = await token({
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret,
  });
  const answer = await fetch(url('/developer/apps'), {
    redirect: 'manual',
    headers: { authorization: `Bearer ${body.access_token}` },
  });
  t.is(answer.status, 303);
});

test('values that a form does not offer are refused', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora', { permissions: ['view_schools'] });
  const reports = await registerFor('dora', REPORTS);
  const browser = await signInAs('dora');
  const post = async (path: string, fields: Record<string, string>): Promise<Page> =>
    browser.post(url(`/developer/apps${path}`), new URLSearchParams(fields));
  const version = String(client.updatedAt);

  for (const [field, value] of [
    ['permission-0', 'close_schools'],
    ['permission-99', 'manage_all_apps'],
    ['role-0', 'headmaster'],
    ['role-x', 'janitor'],
    ['role-0', '__proto__'],
  ] as const) {
    const page = await post(`/${client.id}/permissions`, { version, [field]: value });
    t.is(page.status, 422, value);
    t.true(
      page.text.includes(`You can give an app only what you hold yourself, which “${value}” is not.`),
      page.text,
    );
  }
  const service = { once: ONCE, name: 'Mine', grantType: 'client_credentials' };
  const people = { once: ONCE, ...REPORTS, redirectUris: REPORTS.redirectUris[0], place: 'server' };
  const firstParty = 'Only an administrator decides which apps are first-party or verified.';
  t.true((await post('/new', { ...people, firstParty: 'yes' })).text.includes(firstParty));
  t.is((await post(`/${client.id}`, { version, name: 'Mine', firstParty: 'yes' })).status, 422);
  const forReports = { ...people, version: String(reports.client.updatedAt), firstParty: 'yes' };
  t.is((await post(`/${reports.client.id}`, forReports)).status, 422);
  // Scopes, roles and permissions are refused in forms of the other kind of app.
  t.is(
    (await post(`/${reports.client.id}/permissions`, { ...forReports, everyScope: 'no', 'scope-0': 'nope' }))
      .status,
    422,
  );
  const mixed = { ...forReports, everyScope: 'yes', 'role-0': 'reader' };
  t.is((await post(`/${reports.client.id}/permissions`, mixed)).status, 422);
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.find(reports.client.id), reports.client);

  // Unknown fields are ignored.
  await post('/new', {
    ...service,
    ownerId: 'emil',
    id: 'chosen',
    disabled: 'false',
    permissions: 'close_schools',
    roles: 'headmaster',
    confidential: 'false',
    createdAt: '0',
  });
  const made = (await auth.clients.list({ search: 'Mine' }))[0];
  t.like(made, { ownerId: 'dora', permissions: [], roles: [], confidential: true });
  t.not(made?.id, 'chosen');
  t.deepEqual(await auth.clients.list({ ownerId: 'emil' }), []);
});

test('a form cannot make an app public, nor give redirect URIs to a client-credentials app', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const reports = await registerFor('dora', REPORTS);
  const service = await registerFor('dora');
  const browser = await signInAs('dora');
  for (const { client } of [reports, service]) {
    for (const place of ['browser', 'device', 'nowhere']) {
      const { updatedAt } = (await auth.clients.find(client.id))!;
      const fields = {
        version: String(updatedAt),
        name: `Now in a ${place}`,
        place,
        grantType: 'authorization_code',
        redirectUris: REPORTS.redirectUris[0],
      };
      const answer = await browser.post(url(`/developer/apps/${client.id}`), new URLSearchParams(fields));
      t.is(answer.status, 303);
      t.like(await auth.clients.find(client.id), {
        name: `Now in a ${place}`,
        confidential: true,
        native: false,
        grantType: client.grantType,
        redirectUris: client.redirectUris,
      });
    }
  }
});

test('large and malformed forms get a 4xx', async (t) => {
  const { auth, signInAs, logger, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora', REPORTS);
  const browser = await signInAs('dora');
  const version = String(client.updatedAt);
  const addresses = [`/developer/apps/${client.id}`, '/developer/apps/new'];
  const forms: [fields: string | Record<string, string>, status: number][] = [
    [{ name: 'x', redirectUris: many(300) }, 422],
    [{ name: 'x', redirectUris: many(2000) }, 413],
    [{ name: 'x', redirectUris: `https://a.example/${'a'.repeat(3000)}` }, 422],
    [{ name: 'x', redirectUris: 'javascript:alert(1)' }, 422],
    [{ name: 'x', redirectUris: 'https://a.example/\u0000' }, 400],
    [{ name: '\u202E\u0007', redirectUris: many(1) }, 422],
    [{ name: '💣'.repeat(60), redirectUris: many(1) }, 422],
    ['name=a&name=b', 400],
    ['name[]=a', 400],
    ['name=%FF', 400],
    ['%00=1', 400],
    ['__proto__=1', 422],
  ];
  for (const address of addresses) {
    for (const [fields, status] of forms) {
      const hidden = { version, once: ONCE, place: 'server', grantType: 'authorization_code' };
      const body =
        typeof fields === 'string'
          ? new URLSearchParams(hidden).toString() + '&' + fields
          : new URLSearchParams({ ...hidden, ...fields });
      const answer = await fetch(url(address), {
        method: 'POST',
        redirect: 'manual',
        body,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          cookie: browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
          'sec-fetch-site': 'same-origin',
        },
      });
      t.is(answer.status, status, `${address} ${JSON.stringify(fields).slice(0, 60)}`);
      t.regex(answer.headers.get('content-type') ?? '', /^text\/html/);
    }
    const json = await fetch(url(address), {
      method: 'POST',
      body: '{"name":"x"}',
      headers: {
        'content-type': 'application/json',
        cookie: browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
      },
    });
    t.is(json.status, 415);
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.is((await auth.clients.list()).length, 1);
  t.deepEqual(
    logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

test('a form without a valid single-use string is refused', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const browser = await signInAs('dora');
  for (const once of ['', 'short', 'x'.repeat(65), 'with spaces in it, and long enough']) {
    for (const path of ['/new', `/${client.id}/secrets`]) {
      const fields = { once, name: 'Nightly', grantType: 'client_credentials', label: '', expires: '' };
      const page = await browser.post(url(`/developer/apps${path}`), new URLSearchParams(fields));
      t.is(page.status, 400);
      t.true(page.text.includes('The form is incomplete.'));
    }
  }
  t.is((await auth.clients.list()).length, 1);
});

test('a form from another site is refused', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const [secret] = await auth.clients.secrets(client.id);
  const browser = await signInAs('dora');
  const from: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'null' },
  ];
  const forms = { ...FORMS, new: { once: ONCE, name: 'Theirs', grantType: 'client_credentials' } };
  for (const headers of from) {
    for (const [path, form] of Object.entries(forms)) {
      const below = path === 'new' ? '/new' : `/${client.id}${path.replace('SECRET', secret!.id)}`;
      const fields = new URLSearchParams({ ...form, version: String(client.updatedAt) });
      const page = await browser.post(url(`/developer/apps${below}`), fields, headers);
      t.is(page.status, 403, path);
      t.is(page.heading, 'This form came from another site', path);
    }
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.is((await auth.clients.list()).length, 1);
});

test('the fields of a form in the query of a GET change nothing', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const [secret] = await auth.clients.secrets(client.id);
  const browser = await signInAs('dora');
  for (const [path, form] of Object.entries(FORMS)) {
    const query = new URLSearchParams({ ...form, version: String(client.updatedAt) }).toString();
    await browser.open(url(`/developer/apps/${client.id}${path.replace('SECRET', secret!.id)}?${query}`));
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.secrets(client.id), [secret!]);
});

test('when the session has ended, the page of the error sends the form again after a login', async (t) => {
  const { signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const browser = await signInAs('dora');
  const form = await browser.open(url(`/developer/apps/${client.id}`));
  await browser.post(url('/oauth/logout'), new URLSearchParams());

  const refused = await browser.submit(form, 'Save', { name: 'Typed with care' });
  t.is(refused.status, 403);
  t.is(refused.heading, 'You are no longer signed in');
  t.true(
    refused.text.includes('Sign in again in another tab, then reload this page to send the form once more.'),
  );
  const signIn = /<a class="button primary" href="([^"]+)" target="_blank" rel="noopener">/.exec(
    refused.html,
  )?.[1];
  const login = await browser.open(new URL(signIn!.replaceAll('&amp;', '&'), refused.url));
  t.is(login.heading, 'Sign in');
  const back = await browser.submit(login, 'Sign in', {
    login: 'dora@school.example',
    password: 'password of dora',
  });
  t.is(back.location?.pathname, `/developer/apps/${client.id}`);

  const saved = await browser.submit(form, 'Save', { name: 'Typed with care' });
  t.is(saved.status, 303);
  t.is((await browser.follow(saved)).heading, 'Typed with care');
});

test('a form that another user sends after a change of login gets 404', async (t) => {
  const { auth, signInAs, registerFor, url } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const doras = await signInAs('dora');
  const form = await doras.open(url(`/developer/apps/${client.id}`));
  const emils = await signInAs('emil');
  t.is((await emils.submit(form, 'Save', { name: 'By emil' })).status, 404);
  t.deepEqual(await auth.clients.find(client.id), client);
});
