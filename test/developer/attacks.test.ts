import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import { clientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { linkOn, REPORTS } from './area.ts';
import { passwordOf, startDeveloperPlatform } from './developers.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startDeveloperPlatform());
  const { auth, registerFor, signInAs, url } = platform;
  const doras = await signInAs('dora');
  return { platform, auth, registerFor, signInAs, url, doras };
});

const ONCE = 'x'.repeat(36);

/** A valid form for each path below the page of an app that takes one. */
const FORMS: Readonly<Record<string, Record<string, string>>> = {
  '/settings': { name: 'Mine now', redirectUris: 'https://evil.example/' },
  '/permissions': { 'permission-0': 'view_schools' },
  '/secrets': { once: ONCE, label: 'mine', expires: '' },
  '/secrets/SECRET/delete': {},
  '/revoke': {},
  '/disable': {},
  '/enable': {},
  '/delete': {},
};

/** A page without the id of its request. */
const withoutReference = (html: string): string => html.replace(/<dd>[\da-f-]{36}<\/dd>/, '');

test('pages and forms of an app of another user answer as for an app that does not exist', async (t) => {
  const { registerFor, auth, url, doras, signInAs } = await started();
  const { client } = await registerFor('emil', { name: 'Alien', permissions: ['close_schools'] });
  const [secret] = await auth.clients.secrets(client.id);
  const own = await registerFor('dora');
  const missing = 'f8d2a9d4-3f2c-4a52-9d2f-0d5f0e3b8f10';
  const at = (id: string, path: string): URL =>
    url(`/developer/apps/${id}${path.replace('SECRET', secret!.id)}`);
  const answers = async (ask: (id: string) => Promise<Page>, path: string): Promise<void> => {
    const page = await ask(client.id);
    t.deepEqual([page.status, page.heading], [404, 'There is nothing here'], path);
    const { html } = await ask(missing);
    t.is(withoutReference(page.html.replaceAll(client.id, missing)), withoutReference(html), path);
    t.false(page.html.includes('Alien'), path);
  };
  for (const [path, form] of Object.entries({ ...FORMS, '': {}, '/activity': {} })) {
    await answers(async (id) => doras.open(at(id, path)), path);
    if (!(path in FORMS)) continue;
    const fields = new URLSearchParams({ ...form, version: String(client.updatedAt) });
    await answers(async (id) => doras.post(at(id, path), fields), path);
  }
  // The own app, with the id of a secret of the other app.
  t.is((await doras.open(at(own.client.id, '/secrets/SECRET/delete'))).status, 404);
  await doras.post(at(own.client.id, '/secrets/SECRET/delete'), new URLSearchParams());

  // A form that Dora opened, which Emil sends.
  const form = await doras.open(at(own.client.id, '/settings'));
  t.is((await (await signInAs('emil')).submit(form, 'Save', { name: 'By emil' })).status, 404);
  t.deepEqual(await auth.clients.find(own.client.id), own.client);
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.secrets(client.id), [secret!]);
  t.false((await doras.open(url('/developer/apps'))).html.includes('Alien'));
  const after = async (id: string): Promise<string> =>
    (await doras.open(url(`/developer/apps?after=${id}`))).html;
  t.is(await after(client.id), await after(missing));
});

test('only a signed-in developer can send a form, and its fields in the query of a GET change nothing', async (t) => {
  const { registerFor, auth, signInAs, url, doras } = await started();
  const { client } = await registerFor('dora');
  const [secret] = await auth.clients.secrets(client.id);
  const [ann, signedOut] = [await signInAs('ann'), new Browser()];
  for (const [path, form] of Object.entries(FORMS)) {
    const address = url(`/developer/apps/${client.id}${path.replace('SECRET', secret!.id)}`);
    const fields = new URLSearchParams({ ...form, version: String(client.updatedAt) });
    t.is((await ann.post(address, fields)).status, 403, path);
    const refused = await signedOut.post(address, fields);
    t.deepEqual([refused.status, refused.heading], [403, 'You are no longer signed in'], path);
    await doras.open(`${address.href}?${fields.toString()}`);
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.secrets(client.id), [secret!]);
});

test('a bearer token does not open the pages', async (t) => {
  const { registerFor, platform, url } = await started();
  const app = await registerFor('dora', { permissions: ['manage_apps', 'manage_all_apps'] });
  const headers = { authorization: `Bearer ${await clientToken(platform, app)}` };
  t.is((await new Browser().get(url('/developer/apps'), headers)).status, 303);
});

const post = async (path: string, fields: Record<string, string>): Promise<Page> => {
  const { doras, url } = await started();
  return doras.post(url(`/developer/apps${path}`), new URLSearchParams(fields));
};

const notHeld = (name: string): string =>
  `You can give an app only what you hold yourself, which “${name}” is not.`;

test('values that a form does not offer are refused', async (t) => {
  const { registerFor, auth } = await started();
  const { client } = await registerFor('dora', { permissions: ['view_schools'] });
  const reports = (await registerFor('dora', REPORTS)).client;
  const people = { once: ONCE, ...REPORTS, redirectUris: REPORTS.redirectUris[0], place: 'server' };
  const [ofService, ofPeople] = [`/${client.id}/permissions`, `/${reports.id}/permissions`];
  const administrator = 'Only an administrator decides which apps are first-party or verified.';
  for (const [path, fields, message] of [
    [ofService, { 'permission-0': 'close_schools' }, notHeld('close_schools')],
    [ofService, { 'permission-99': 'manage_all_apps' }, notHeld('manage_all_apps')],
    [ofService, { 'role-0': 'headmaster' }, notHeld('headmaster')],
    [ofService, { 'role-x': 'janitor' }, notHeld('janitor')],
    [ofService, { 'role-0': '__proto__' }, notHeld('__proto__')],
    ['/new', { ...people, firstParty: 'yes' }, administrator],
    [`/${client.id}/settings`, { name: 'Mine', firstParty: 'yes' }, administrator],
    [`/${reports.id}/settings`, { ...people, firstParty: 'yes' }, administrator],
    [ofPeople, { everyScope: 'no', 'scope-0': 'nope' }, ''],
    // Roles are those of the other kind of app.
    [ofPeople, { everyScope: 'yes', 'role-0': 'reader' }, ''],
  ] as const) {
    const { updatedAt } = path.includes(client.id) ? client : reports;
    const page = await post(path, { version: String(updatedAt), ...fields });
    t.is(page.status, 422, JSON.stringify(fields));
    t.true(page.text.includes(message), page.text);
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.find(reports.id), reports);

  // Unknown fields are ignored.
  const unknown = { ownerId: 'emil', id: 'chosen', disabled: 'false', createdAt: '0' };
  const others = { permissions: 'close_schools', roles: 'headmaster', confidential: 'false' };
  const service = { once: ONCE, name: 'Service of mine', grantType: 'client_credentials' };
  await post('/new', { ...service, ...unknown, ...others });
  const [made] = await auth.clients.list({ search: 'Service of mine' });
  t.like(made, { ownerId: 'dora', permissions: [], roles: [], confidential: true, disabled: false });
  t.not(made?.id, 'chosen');
});

test('a form cannot make an app public, nor give redirect URIs to a client-credentials app', async (t) => {
  const { registerFor, auth, doras, url } = await started();
  for (const { client } of [await registerFor('dora', REPORTS), await registerFor('dora')]) {
    for (const place of ['browser', 'device', 'nowhere']) {
      const { updatedAt } = (await auth.clients.find(client.id))!;
      const name = `Now in a ${place}`;
      const fields = { version: String(updatedAt), name, place, grantType: 'authorization_code' };
      const form = new URLSearchParams({ ...fields, redirectUris: REPORTS.redirectUris[0] });
      t.is((await doras.post(url(`/developer/apps/${client.id}/settings`), form)).status, 303);
      const { grantType, redirectUris } = client;
      const same = { grantType, redirectUris, confidential: true, native: false };
      t.like(await auth.clients.find(client.id), { name, ...same });
    }
  }
});

const many = (count: number): string =>
  Array.from({ length: count }, (_, index) => `https://a.example/${index}`).join('\n');

test('large and malformed forms get a 4xx', async (t) => {
  const { registerFor, doras, url, auth, platform } = await started();
  const { client } = await registerFor('dora', REPORTS);
  const hidden = { version: String(client.updatedAt), once: 'y'.repeat(36), ...REPORTS, place: 'server' };
  for (const path of [`/developer/apps/${client.id}/settings`, '/developer/apps/new']) {
    for (const [fields, status] of [
      [{ redirectUris: many(300) }, 422],
      [{ redirectUris: many(2000) }, 413],
      [{ redirectUris: 'javascript:alert(1)' }, 422],
      [{ redirectUris: 'https://a.example/\u0000' }, 400],
      [{ name: '💣'.repeat(60) }, 422],
      ['&name=b', 400],
      ['&name=%FF', 400],
      ['&%00=1', 400],
      ['{"name":"x"}', 415],
    ] as const) {
      const form = new URLSearchParams({
        ...hidden,
        redirectUris: many(1),
        ...(typeof fields === 'object' && fields),
      });
      const text = typeof fields === 'string' ? form.toString() + fields : form.toString();
      const type = status === 415 ? 'application/json' : 'application/x-www-form-urlencoded';
      const answer = await doras.post(url(path), new TextEncoder().encode(text), { 'content-type': type });
      t.is(answer.status, status, `${path} ${JSON.stringify(fields).slice(0, 60)}`);
      t.regex(answer.response.headers.get('content-type') ?? '', /^text\/html/);
    }
  }
  t.deepEqual(await auth.clients.find(client.id), client);
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

test('a form without a valid single-use string is refused', async (t) => {
  const { registerFor, doras, url, auth } = await started();
  const { client } = await registerFor('dora');
  for (const once of ['', 'short', 'x'.repeat(65), 'with spaces in it, and long enough']) {
    for (const path of ['/new', `/${client.id}/secrets`]) {
      const fields = { once, name: 'Without it', grantType: 'client_credentials', label: '', expires: '' };
      const page = await doras.post(url(`/developer/apps${path}`), new URLSearchParams(fields));
      t.is(page.status, 400);
      t.true(page.text.includes('The form is incomplete.'));
    }
  }
  t.deepEqual(await auth.clients.list({ search: 'Without it' }), []);
});

test('when the session has ended, the page of the error sends the form again after a login', async (t) => {
  const { registerFor, signInAs, url } = await started();
  const { client } = await registerFor('dora');
  const browser = await signInAs('dora');
  const form = await browser.open(url(`/developer/apps/${client.id}/settings`));
  await browser.post(url('/oauth/logout'), new URLSearchParams());
  const refused = await browser.submit(form, 'Save', { name: 'Typed with care' });
  t.deepEqual([refused.status, refused.heading], [403, 'You are no longer signed in']);
  const says = 'Sign in again in another tab, then reload this page to send the form once more.';
  t.true(refused.text.includes(says));
  const login = await browser.open(linkOn(refused, '[^"]+" target="_blank" rel="noopener">')!);
  t.is(login.heading, 'Sign in');
  const { email, password } = passwordOf('dora');
  t.is((await signIn(browser, login, email, password)).url.href, form.url.href);
  const saved = await browser.submit(form, 'Save', { name: 'Typed with care' });
  t.is(saved.status, 303);
  t.is((await browser.follow(saved)).heading, 'Typed with care');
});
