import test from '../harness/test.ts';
import { pages } from 'koa-gatehouse/interactions';

import { like } from '../harness/like.ts';
import { clientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { boxes, openArea, REPORTS, startArea } from './area.ts';

const started = shared(async (stack) => {
  const area = stack.use(await startArea());
  const { api, auth, browser, open, registerFor } = area;
  return { area, api, auth, browser, open, registerFor };
});

test('an app with the authorization code grant has scopes in place of permissions', async (t) => {
  const { registerFor, open, browser, auth } = await started();
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

test('each scope has the name that the app asks with, under its API, in the language of the page', async (t) => {
  const library = 'https://library.example/v1';
  const scopes = {
    'books:read': { description: 'See the books', permissions: [] },
    'schools:read': { description: 'See the schools with a library', permissions: [] },
  };
  const german = await openArea(t, 'dora', {
    openid: true,
    resources: { [library]: { name: 'Bücherei', scopes } },
    scopes: {
      'schools:read': { description: 'See your schools', permissions: [] },
      'schools:write': { description: 'Change your schools', permissions: [] },
    },
    interactions: pages({
      brand: { name: 'Acme Schools' },
      language: 'de',
      text: {
        'login.submit': 'Sign in',
        'scope.schools:read': 'Ihre Schulen sehen',
        'scope.schools:write': 'Ihre Schulen ändern',
        [`scope.${library} schools:read`]: 'Die Schulen mit einer Bücherei sehen',
        [`scope.${library} books:read`]: 'Die Bücher sehen',
      },
    }),
  });
  const { client } = await german.registerFor('dora', REPORTS);
  const { text } = await german.open(`/${client.id}/permissions`);
  const says = [
    'Nur diese:',
    'Acme Schools, Bücherei Ihre Schulen sehen; Die Schulen mit einer Bücherei sehen schools:read',
    'Acme Schools Ihre Schulen ändern schools:write',
    'Bücherei Die Bücher sehen books:read',
    'Über die Person Sie anmelden und beim nächsten Mal wiedererkennen openid',
  ].join(' ');
  t.true(text.includes(says), text);
});

test('roles and permissions that an administrator gave are shown, and stay when the form is saved', async (t) => {
  const { registerFor, open, browser, auth } = await started();
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
  const { registerFor, open, api, area } = await started();
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
