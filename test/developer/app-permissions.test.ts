import test from 'ava';

import { like } from '../harness/like.ts';
import { clientToken } from '../harness/tokens.ts';
import { boxes, REPORTS, startArea } from './area.ts';

const area = await startArea();
test.after.always(() => area[Symbol.asyncDispose]());
const { api, auth, browser, open, registerFor } = area;

test('an app with the authorization code grant has scopes in place of permissions', async (t) => {
  const { client } = await registerFor('dora', REPORTS);
  const page = await open(`/${client.id}/permissions`);
  t.true(page.text.includes('so the permissions of each person apply'));
  t.regex(page.html, /id="everyScope"[^>]* checked/);
  const box = boxes(page);
  t.deepEqual(Object.keys(box), ['schools:read']);
  for (const [fields, scopes] of [
    [{ everyScope: 'no', [box['schools:read']!]: 'schools:read' }, ['schools:read']],
    [{ everyScope: 'no' }, []],
    [{ everyScope: 'yes' }, undefined],
  ] as const) {
    await browser.submit(await open(`/${client.id}/permissions`), 'Save', fields);
    t.deepEqual((await auth.clients.find(client.id))?.scopes, scopes);
  }
});

test('roles and permissions that an administrator gave are shown, and stay when the form is saved', async (t) => {
  const { client } = await registerFor('dora', {
    roles: ['headmaster', 'reader'],
    permissions: ['close_schools', 'edit_schools'],
  });
  const page = await open(`/${client.id}/permissions`);
  t.regex(page.html, /value="headmaster" checked disabled/);
  t.regex(page.html, /value="close_schools" checked disabled/);
  t.true(page.text.includes('Given by an administrator; you cannot change it.'));
  await browser.submit(page, 'Save', { [boxes(page)['view_schools']!]: 'view_schools' });
  like(t, await auth.clients.find(client.id), {
    roles: ['headmaster'],
    permissions: ['view_schools', 'close_schools'],
  });
});

test('the page shows the effective permissions, which the owner of the app has too', async (t) => {
  const app = await registerFor('dora', {
    roles: ['headmaster'],
    permissions: ['view_schools', 'manage_all_apps'],
  });
  const { text } = await open(`/${app.client.id}/permissions`);
  t.regex(
    text,
    /What it may do now .*View schools Edit schools Without effect, because its owner does not hold it: Close schools Manage the apps of all users Roles/,
  );
  const { body } = await api('/identity', await clientToken(area, app));
  like(t, body['data'], { permissions: ['edit_schools', 'view_schools'] });

  const nothing = await registerFor('dora', { permissions: ['close_schools'] });
  const page = await open(`/${nothing.client.id}/permissions`);
  t.regex(page.text, /What it may do now .* Nothing\. Without effect/);

  const unowned = await registerFor(undefined, { permissions: ['close_schools'] });
  const roots = await area.signInAs('root');
  const all = await roots.open(area.url(`/developer/apps/${unowned.client.id}/permissions`));
  t.is(all.status, 200);
  t.false(all.text.includes('What it may do now'));
});
