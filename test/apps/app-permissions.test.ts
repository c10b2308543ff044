import test from 'ava';

import { REPORTS, boxes, openArea } from './area.ts';

test('an app for people has scopes in place of permissions', async (t) => {
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

test('what an administrator gave is shown, and stays when the form is saved', async (t) => {
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
