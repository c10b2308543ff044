import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { Page } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { pausable } from '../harness/storage.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { linkOn, openArea, REPORTS, valueOf } from './area.ts';

test('settings are shown and saved', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t);
  const { client } = await registerFor('dora', REPORTS);
  const overview = await open(`/${client.id}`);
  t.is(overview.heading, 'Reports');
  t.is(valueOf(overview, 'client-id'), client.id);
  t.true(overview.text.includes('Kind Authorization code, on a server'));
  t.false(overview.html.includes('<form'));
  const page = await browser.open(linkOn(overview, '[^"]+/settings"')!);
  t.is(page.heading, 'Reports');
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

  const wrong = await browser.submit(await open(`/${client.id}/settings`), 'Save', {
    name: '',
    redirectUris: '',
  });
  t.is(wrong.status, 422);
  t.true(wrong.text.includes('Give at least one redirect URI.'));
  t.is((await auth.clients.find(client.id))?.name, 'Reports 2');
});

test('a form gets 409 and the typed values again when the app was changed since, or while it is saved', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { auth, browser, open, registerFor } = await openArea(t, 'dora', { storage });
  const { client } = await registerFor('dora', { permissions: ['view_schools'] });
  for (const [path, fields] of [
    ['/settings', { name: 'From the form' }],
    ['/permissions', {}],
  ] as const) {
    const assertConflict = async (conflict: Page, name: string): Promise<void> => {
      t.is(conflict.status, 409);
      t.true(conflict.text.includes('This app was changed after you opened the form'));
      if (path === '/settings') t.is(valueOf(conflict, 'name'), 'From the form');
      like(t, await auth.clients.find(client.id), { name, permissions: ['view_schools'] });
    };
    const page = await open(`/${client.id}${path}`);
    await auth.clients.update(client.id, { name: 'From another tab' });
    const stale = await browser.submit(page, 'Save', fields);
    await assertConflict(stale, 'From another tab');
    const saving = pause('clients.update');
    const posted = browser.submit(stale, 'Save', fields);
    await saving.reached;
    await auth.clients.update(client.id, { name: 'From a third one' });
    saving.resume();
    await assertConflict(await posted, 'From a third one');
    t.is((await browser.submit(await posted, 'Save', fields)).status, 303);
  }
  t.like(await auth.clients.find(client.id), { name: 'From a third one', permissions: [] });
});

test('disable, enable and delete an app, with a confirmation page for disable and delete', async (t) => {
  const { browser, developer, open, registerFor, token } = await openArea(t);
  const app = await registerFor('dora');
  const { client } = app;
  const status = async (): Promise<number> => (await requestClientToken({ token }, app)).status;
  const question = await open(`/${client.id}/disable`);
  t.is(question.heading, 'Disable Nightly import ?');
  t.is(await status(), 200);
  const disabled = await browser.follow(await browser.submit(question, 'Disable'));
  t.true(disabled.text.startsWith('The app is disabled.'));
  t.true(disabled.text.includes('This app is disabled: it gets no tokens'));
  t.is(await status(), 401);
  t.true((await open()).text.includes('Disabled'));

  const enabled = await browser.follow(await browser.submit(disabled, 'Enable'));
  t.true(enabled.text.startsWith('The app is enabled.'));
  t.is(await status(), 200);
  t.is((await open(`/${client.id}/enable`)).heading, 'Nightly import');

  await (await developer('root')).disable(client.id);
  const off = await open(`/${client.id}/settings`);
  t.true(off.text.includes('Only an administrator can enable it again.'));
  const refused = await browser.submit(disabled, 'Enable');
  t.is(refused.status, 403);
  t.true(refused.text.includes('Missing permission manage_all_apps'));

  const last = await open(`/${client.id}/delete`);
  t.is(last.heading, 'Delete Nightly import ?');
  const gone = await browser.follow(await browser.submit(last, 'Delete'));
  t.true(gone.text.startsWith('The app is deleted.'));
  t.is((await open(`/${client.id}`)).status, 404);
  t.is((await browser.submit(last, 'Delete')).status, 404);
});
