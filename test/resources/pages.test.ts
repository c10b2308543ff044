import test from '../harness/test.ts';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { authorize, authorizeUrl } from '../harness/platform.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { ARCHIVE, DOCUMENTS, authorizeFor, startApis, statusOf } from './apis.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startApis());
  return { platform };
});

test('the consent page names the API and its scopes', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  await authorize(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const ask = async (parameters: Record<string, string>, language = 'en'): Promise<string> =>
    (await browser.open(authorizeUrl(platform, app, { ui_locales: language, ...parameters }))).text;
  const documents = await ask({ resource: DOCUMENTS, scope: 'read' });
  t.regex(documents, /Read your documents.*Access to\s+Documents/s);
  t.false(documents.includes('archive'));
  const archive = await ask({ resource: ARCHIVE, scope: 'read' });
  t.regex(archive, /Read the archive.*Access to\s+an API without a name: https:\/\/archive\.example/s);
  const standard = await ask({ scope: 'schools:write' });
  t.false(standard.includes('Access to'), standard);
});

test('the label of a scope is that of its API', async (t) => {
  await using own = await startApis({
    interactions: pages({
      language: ['de'],
      text: { de: { 'scope.read': 'FALSCH', [`scope.${DOCUMENTS} read`]: 'Ihre Dokumente lesen' } },
    }),
  });
  const browser = new Browser();
  const app = await own.registerApp();
  await browser.open(authorizeUrl(own, app));
  let page = await browser.open(authorizeUrl(own, app, { resource: DOCUMENTS, scope: 'read' }));
  page = await browser.follow(
    await browser.submit(page, 'Anmelden', { login: 'ann@school.example', password: 'correct horse' }),
  );
  t.regex(page.text, /Ihre Dokumente lesen.*Zugriff auf\s+Documents/s);
  page = await browser.open(authorizeUrl(own, app, { resource: ARCHIVE, scope: 'read' }));
  t.regex(page.text, /Read the archive/);
  t.false(page.text.includes('FALSCH'));
});

test('the list of authorized apps names each API, and disconnecting ends all of them', async (t) => {
  await using own = await startApis();
  const browser = new Browser();
  const app = await own.registerApp();
  const list = async (): Promise<string> => (await browser.open(own.url('/account/apps'))).text;
  await authorize(own, app, { browser, parameters: { resource: ARCHIVE, scope: 'read' } });
  const archive = await list();
  t.regex(archive, /It can:\s+https:\/\/archive\.example\s+Read the archive\s+1 connection:/);
  t.false(archive.includes('It can do nothing else'), archive);

  await authorize(own, app, { browser, parameters: { resource: DOCUMENTS } });
  await authorize(own, app, { browser, parameters: { scope: 'schools:read' } });
  t.regex(
    await list(),
    /It can:\s+See your schools\s+https:\/\/archive\.example\s+Read the archive\s+Documents\s+Do everything that you can do/,
  );

  const { access_token: token, refresh_token } = await authorizeFor(own, app, { resource: DOCUMENTS });
  t.is(await statusOf(own, '/documents/list', token), 200);
  const page = await browser.open(own.url(`/account/apps/${app.client.id}/revoke`));
  await browser.follow(await browser.submit(page, 'Disconnect'));
  t.deepEqual(await statusOf(own, '/documents/list', token), [401, 'token_revoked']);
  const refused = await exchangeRefreshToken(own, app, refresh_token);
  t.like(refused, { status: 400, body: { error: 'invalid_grant' } });
  t.false((await list()).includes(app.client.name));
  const withdrawn = await own.auth.audit.list({ types: ['consent_withdrawn'] });
  like(t, withdrawn[0], { clientId: app.client.id, scopes: ['schools:read', 'read'] });
});
