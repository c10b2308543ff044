import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { pausable } from '../harness/storage.ts';
import { REPORTS, openArea, valueOf } from './area.ts';

test('settings are shown and saved', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t);
  const { client } = await registerFor('dora', REPORTS);
  const page = await open(`/${client.id}`);
  t.is(page.heading, 'Reports');
  t.is(valueOf(page, 'client-id'), client.id);
  t.true(page.text.includes('Kind Authorization code, on a server'));
  t.false(page.text.includes('First-party'));
  const redirectUris = 'https://reports.example/callback\nhttps://reports.example/other';
  const saved = await browser.submit(page, 'Save', { name: 'Reports 2', redirectUris });
  t.is(saved.status, 303);
  t.true((await browser.follow(saved)).text.startsWith('Saved.'));
  t.like(await auth.clients.find(client.id), {
    name: 'Reports 2',
    redirectUris: redirectUris.split('\n'),
    confidential: true,
    native: false,
    ownerId: 'dora',
  });

  const wrong = await browser.submit(await open(`/${client.id}`), 'Save', { name: '', redirectUris: '' });
  t.is(wrong.status, 422);
  t.true(wrong.text.includes('Give at least one redirect URI.'));
  t.is((await auth.clients.find(client.id))?.name, 'Reports 2');
});

test('a form that was opened before another change gets 409 and the typed values again', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t);
  const { client } = await registerFor('dora', { permissions: ['view_schools'] });
  const [first, second] = [await open(`/${client.id}`), await open(`/${client.id}`)];
  const permissions = await open(`/${client.id}/permissions`);
  t.is((await browser.submit(first, 'Save', { name: 'From the first tab' })).status, 303);

  const conflict = await browser.submit(second, 'Save', { name: 'From the second tab' });
  t.is(conflict.status, 409);
  t.true(conflict.text.includes('This app was changed after you opened the form'));
  t.is(valueOf(conflict, 'name'), 'From the second tab');
  t.is((await auth.clients.find(client.id))?.name, 'From the first tab');
  t.is((await browser.submit(permissions, 'Save', {})).status, 409);
  t.deepEqual((await auth.clients.find(client.id))?.permissions, ['view_schools']);

  t.is((await browser.submit(conflict, 'Save', { name: 'From the second tab' })).status, 303);
  t.is((await auth.clients.find(client.id))?.name, 'From the second tab');
});

test('a form gets 409 when the app is changed while the form is saved', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { auth, browser, open, registerFor } = await openArea(t, 'dora', { storage });
  const { client } = await registerFor('dora', { permissions: ['view_schools'] });
  const pages = [
    { path: '', fields: { name: 'From the form' } },
    { path: '/permissions', fields: {} },
  ];
  for (const { path, fields } of pages) {
    const page = await open(`/${client.id}${path}`);
    const saving = pause('clients.update');
    const posted = browser.submit(page, 'Save', fields);
    await saving.reached;
    const name = `Changed before "${path}"`;
    await auth.clients.update(client.id, { name });
    saving.resume();
    const conflict = await posted;
    t.is(conflict.status, 409);
    t.true(conflict.text.includes('This app was changed after you opened the form'));
    t.like(await auth.clients.find(client.id), { name, permissions: ['view_schools'] });
    t.is((await browser.submit(conflict, 'Save', fields)).status, 303);
  }
});

test('disable, enable and delete an app, with a confirmation page for disable and delete', async (t) => {
  const { browser, developer, open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  const ask = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const question = await open(`/${client.id}/disable`);
  t.is(question.heading, 'Disable Nightly import ?');
  t.is((await token(ask)).status, 200);
  const disabled = await browser.follow(await browser.submit(question, 'Disable'));
  t.true(disabled.text.startsWith('The app is disabled.'));
  t.true(disabled.text.includes('This app is disabled: it gets no tokens'));
  t.is((await token(ask)).status, 401);
  t.true((await open()).text.includes('Disabled'));

  const enabled = await browser.follow(await browser.submit(disabled, 'Enable'));
  t.true(enabled.text.startsWith('The app is enabled.'));
  t.is((await token(ask)).status, 200);
  t.is((await open(`/${client.id}/enable`)).heading, 'Nightly import');

  await (await developer('root')).disable(client.id);
  const off = await open(`/${client.id}`);
  t.true(off.text.includes('Only an administrator can enable it again.'));
  const refused = await browser.submit(disabled, 'Enable');
  t.is(refused.status, 403);
  t.true(refused.text.includes('Missing permission to manage all apps.'));

  const last = await open(`/${client.id}/delete`);
  t.is(last.heading, 'Delete Nightly import ?');
  const gone = await browser.follow(await browser.submit(last, 'Delete'));
  t.true(gone.text.startsWith('The app is deleted.'));
  t.is((await open(`/${client.id}`)).status, 404);
  t.is((await browser.submit(last, 'Delete')).status, 404);
});
