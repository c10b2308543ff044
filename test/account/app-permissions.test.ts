import test from 'ava';

import { REPORTS, boxes, openArea } from './area.ts';

test('an app with the authorization code grant has scopes in place of permissions', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t);
  const { client } = await registerFor('dora', REPORTS);
  const page = await open(`/${client.id}/permissions`);
  t.true(page.text.includes('so the permissions of each person apply'));
  t.regex(page.html, /id="everyScope"[^>]* checked/);
  const box = boxes(page);
  t.deepEqual(Object.keys(box), ['schools:read']);
  await browser.submit(page, 'Save', { everyScope: 'no', [box['schools:read']!]: 'schools:read' });
  t.deepEqual((await auth.clients.find(client.id))?.scopes, ['schools:read']);
  await browser.submit(await open(`/${client.id}/permissions`), 'Save', { everyScope: 'no' });
  t.deepEqual((await auth.clients.find(client.id))?.scopes, []);
  await browser.submit(await open(`/${client.id}/permissions`), 'Save', { everyScope: 'yes' });
  t.is((await auth.clients.find(client.id))?.scopes, undefined);
});

test('roles and permissions that an administrator gave are shown, and stay when the form is saved', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t);
  const { client } = await registerFor('dora', { roles: ['headmaster'], permissions: ['close_schools'] });
  const page = await open(`/${client.id}/permissions`);
  t.regex(page.html, /value="headmaster" checked disabled/);
  t.regex(page.html, /value="close_schools" checked disabled/);
  t.true(page.text.includes('Given by an administrator; you cannot change it.'));
  const box = boxes(page);
  await browser.submit(page, 'Save', { [box['view_schools']!]: 'view_schools' });
  t.like(await auth.clients.find(client.id), {
    roles: ['headmaster'],
    permissions: ['view_schools', 'close_schools'],
  });
});

test('the page shows the effective permissions, which the owner of the app has too', async (t) => {
  const { api, open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora', {
    roles: ['headmaster'],
    permissions: ['view_schools', 'manage_all_apps'],
  });
  const { text } = await open(`/${client.id}/permissions`);
  const [, may = '', without = ''] =
    /What it may do now (.*) Without effect, because its owner does not hold it: (.*?) Roles/.exec(text) ??
    [];
  t.true(may.endsWith('View schools Edit schools'), text);
  t.is(without, 'Close schools Manage the apps of all users', text);

  const asked = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const { body } = await api('/identity', (await token(asked)).body.access_token);
  t.like(body['data'], { permissions: ['edit_schools', 'view_schools'] });

  const nothing = await registerFor('dora', { permissions: ['close_schools'] });
  t.regex(
    (await open(`/${nothing.client.id}/permissions`)).text,
    /What it may do now .* Nothing\. Without effect/,
  );
});

test('an app without an owner has all permissions that it was given', async (t) => {
  const { open, registerFor } = await openArea(t, 'root');
  const { client } = await registerFor(undefined, { permissions: ['close_schools'] });
  t.false((await open(`/${client.id}/permissions`)).text.includes('What it may do now'));
});
