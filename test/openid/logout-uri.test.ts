import test from '../harness/test.ts';

import { openArea, REPORTS, valueOf } from '../developer/area.ts';

test('the developer of an app gives it the address at which it is told of logouts, and takes it away', async (t) => {
  const { auth, browser, open } = await openArea(t, 'dora', { openid: true });
  const { client } = await auth.clients.create({ ...REPORTS, ownerId: 'dora' });
  const save = async (backchannelLogoutUri: string) =>
    browser.submit(await open(`/${client.id}/settings`), 'Save', {
      redirectUris: REPORTS.redirectUris.join('\n'),
      backchannelLogoutUri,
      name: client.name,
    });
  const uriOf = async () => (await auth.clients.find(client.id))?.backchannelLogoutUri;

  const uri = 'https://reports.example/logout';
  t.is((await save(` ${uri} `)).status, 303);
  t.is(await uriOf(), uri);
  t.is(valueOf(await open(`/${client.id}/settings`), 'backchannelLogoutUri'), uri);
  const refused = await save('http://reports.example/logout');
  t.is(refused.status, 422);
  t.regex(refused.text, /Give it as https:\/\/host\/path of at most 2000 characters/);
  t.regex((await save('https://127.0.0.1/logout')).text, /Give a public address/);
  t.is(await uriOf(), uri);
  t.is((await save('')).status, 303);
  t.is(await uriOf(), undefined);
});

test('without OpenID Connect the form has no such field, and keeps the address', async (t) => {
  const { auth, browser, open } = await openArea(t);
  const uri = 'https://reports.example/logout';
  const { client } = await auth.clients.create({ ...REPORTS, ownerId: 'dora', backchannelLogoutUri: uri });
  const page = await open(`/${client.id}/settings`);
  t.false(page.html.includes('backchannelLogoutUri'));
  const redirectUris = REPORTS.redirectUris.join('\n');
  t.is((await browser.submit(page, 'Save', { redirectUris, name: 'Reports 2' })).status, 303);
  t.like(await auth.clients.find(client.id), { name: 'Reports 2', backchannelLogoutUri: uri });
});
