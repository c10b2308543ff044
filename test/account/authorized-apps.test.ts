import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { authorizeUrl, runCodeFlow } from '../harness/platform.ts';
import { breakable, pausable } from '../harness/storage.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { linkOn, nextPageOn, REPORTS } from '../developer/area.ts';
import { openDeveloperPlatform, startDeveloperPlatform } from '../developer/developers.ts';
import type { DeveloperPlatform } from '../developer/developers.ts';
import { aClient, aConsent } from '../storage/rows.ts';

const storage = memoryStorage();
const started = shared(async (stack) => {
  const platform = stack.use(await startDeveloperPlatform({ storage }));
  const { api, auth, registerFor, signInAs, url } = platform;
  return { platform, api, auth, registerFor, signInAs, url };
});

const NO_FIELDS = new URLSearchParams();

/** The page of a browser's user, with the number of apps on it, and the status of what its forms do. */
function pageOf(browser: Browser, { url: at }: DeveloperPlatform) {
  const post = async (path: string): Promise<number> =>
    (await browser.post(at(`/account/apps/${path}`), NO_FIELDS)).status;
  return {
    async count() {
      return (await browser.open(at('/account/apps'))).html.match(/apps\/[^/"]+\/revoke"/g)?.length ?? 0;
    },
    disconnect: async (clientId: string) => post(`${clientId}/revoke`),
    end: async (clientId: string, grant: string) => post(`${clientId}/grants/${grant}/revoke`),
  };
}

async function works({ api: call }: DeveloperPlatform, token: string): Promise<boolean> {
  return (await call('/identity', token)).status === 200;
}

test('an app is listed with its scopes, and disconnected after a confirmation page, for this user only', async (t) => {
  const { registerFor, signInAs, platform, url, auth } = await started();
  const [app, other] = [await registerFor('dora', REPORTS), await registerFor('dora', REPORTS)];
  const [browser, emils] = [await signInAs('ann'), await signInAs('emil')];
  const parameters = { scope: 'schools:read' };
  const { body } = await runCodeFlow(platform, app, { browser, parameters });
  const kept = [
    (await runCodeFlow(platform, other, { browser })).body.access_token,
    (await runCodeFlow(platform, app, { browser: emils })).body.access_token,
  ];
  const disconnect = `/account/apps/${app.client.id}/revoke`;
  const page = await browser.open(url('/account/apps'));
  t.regex(
    page.text,
    /Reports Disconnect Reports Authorized \w+ \d+, \d{4} · Last used \w+ \d+, \d{4} It can: See your schools/,
  );
  // There is no other one that could stay.
  t.regex(page.text, /1 connection: node, 127\.0\.0\.1 since \w+ \d+, \d{4}/);
  t.true(page.html.includes(`href="${disconnect}"`));

  const question = await browser.open(url(disconnect));
  t.is(question.heading, 'Disconnect Reports ?');
  t.true(question.text.includes('It loses its access to your account at once.'));
  t.true(await works(platform, body.access_token));
  const done = await browser.submit(question, 'Disconnect');
  t.is(done.status, 303);
  t.is(done.location?.href, url('/account/apps?done=client_revoked').href);
  const after = await browser.follow(done);
  t.true(after.text.startsWith('The app is disconnected. It has no access to your account any more.'));
  t.false(after.html.includes(disconnect));
  t.false(await works(platform, body.access_token));
  t.is((await exchangeRefreshToken(platform, app, body.refresh_token)).body.error, 'invalid_grant');
  for (const token of kept) t.true(await works(platform, token));
  const [withdrawn, ...more] = await auth.audit.list({
    clientId: app.client.id,
    types: ['consent_withdrawn'],
  });
  like(t, withdrawn, { userId: 'ann', actorId: 'ann', address: '127.0.0.1', scopes: ['schools:read'] });
  t.is(more.length, 0);

  // A second click, and a link that was stored.
  t.is((await browser.submit(question, 'Disconnect')).location?.pathname, '/account/apps');
  t.is((await browser.get(url(disconnect))).location?.pathname, '/account/apps');
  t.is((await browser.open(authorizeUrl(platform, app, parameters))).heading, 'Authorize Reports');
});

test('an app without scopes may do everything; a disabled app is marked, and a deleted one is gone', async (t) => {
  const { signInAs, registerFor, platform, auth, url } = await started();
  const browser = await signInAs('root');
  const app = await registerFor('dora', { ...REPORTS, name: '<b>Reports' });
  const gone = await registerFor('dora', { ...REPORTS, name: 'Gone' });
  for (const one of [app, gone]) await runCodeFlow(platform, one, { browser });
  await auth.clients.delete(gone.client.id);
  const { client } = await registerFor('dora', { ...REPORTS, name: 'Old scope' });
  const times = { createdAt: 1, updatedAt: 1, lastUsedAt: 86_400 };
  const consent = { userId: 'root', clientId: client.id, scopes: ['schools:write'], hosts: {} };
  await storage.consents.add({ ...consent, ...times });
  const before = await browser.open(url('/account/apps'));
  t.true(before.text.includes('It can do everything that you can do.'));
  t.true(before.html.includes('<bdi>&lt;b&gt;Reports</bdi>'));
  t.false(before.text.includes('Gone'));
  t.false(before.text.includes('Switched off'));
  t.regex(before.text, /Authorized Jan 1, 1970 · Last used Jan 2, 1970 .*It can: schools:write/);
  await auth.clients.disable(app.client.id);
  t.true((await browser.open(url('/account/apps'))).text.includes('Switched off'));
});

/** Adds a connection of Dora's phone. */
async function addConnection({ grants }: Storage, clientId: string, id: string): Promise<void> {
  const origin = { address: '2001:db8::7', userAgent: 'Mozilla/5.0 (Linux; Android 14) <b>' };
  const times = { createdAt: 1_750_000_000, expiresAt: 9_999_999_999, revokedAt: undefined };
  const sequence = Number.MAX_SAFE_INTEGER;
  const code = { id: `of ${id}`, grantId: id, payload: {}, expiresAt: 0, consumedAt: 1 };
  await grants.insert(
    { id, userId: 'dora', clientId, scopes: undefined, ...times, sequence, sessionUid: undefined, origin },
    { kind: 'code', ...code, sealedSuccessor: undefined },
  );
}

test('an app on several machines is one entry, and each connection is ended alone', async (t) => {
  const { registerFor, signInAs, platform, url, auth } = await started();
  const app = await registerFor('dora', REPORTS);
  const { id } = app.client;
  const browser = await signInAs('dora');
  const laptop = (await runCodeFlow(platform, app, { browser })).body;
  const phone = (await runCodeFlow(platform, app, { browser })).body;
  await addConnection(storage, id, 'third');
  await storage.grants.touch('third', 1_750_086_400);
  const page = await browser.open(url('/account/apps'));
  t.is(page.html.split('<bdi>Reports</bdi>').length, 2);
  t.regex(page.text, /3 connections: node, 127\.0\.0\.1 since/);
  t.regex(page.text, /Android, 2001:db8::7 since Jun 15, 2025 · Last used Jun 16, 2025 End/);
  t.is(page.html.match(/grants\/[^/"]+\/revoke"/g)?.length, 3);

  const grantId = decodeJwt(phone.access_token)['grant_id'] as string;
  const link = linkOn(page, `[^"]+/${grantId}/revoke"`)!;
  const question = await browser.open(link);
  t.is(question.heading, 'End this connection of Reports ?');
  t.regex(question.text, /node, 127\.0\.0\.1 , since .* Other connections of the app stay\./);
  const done = await browser.submit(question, 'End');
  t.is(done.location?.href, url('/account/apps?done=grant_revoked').href);
  const after = await browser.follow(done);
  t.true(after.text.startsWith('The connection is ended.'));
  t.true(after.text.includes('2 connections:'));
  t.false(await works(platform, phone.access_token));
  t.true(await works(platform, laptop.access_token));

  // A second click, and a link that was stored.
  t.is((await browser.submit(question, 'End')).status, 303);
  t.is((await browser.get(link)).location?.pathname, '/account/apps');
  const [revoked, ...others] = await auth.audit.list({ clientId: id, types: ['tokens_revoked'] });
  t.like(revoked, { target: 'grant', grantId, userId: 'dora', actorId: 'dora' });
  t.is(others.length, 0);

  for (let number = 3; number <= 50; number += 1) await addConnection(storage, id, String(number));
  t.true((await browser.open(page.url)).text.includes(' 50 connections: node, 127.0.0.1 since'));
  await addConnection(storage, id, '51');
  const { html, text } = await browser.open(page.url);
  t.true(text.includes('More than 50 connections. Those used last: node, 127.0.0.1 since'), text);
  t.is(html.match(/grants\/[^/"]+\/revoke"/g)?.length, 50);
});

test('a user cannot disconnect an app for another user, nor without a session, nor what does not exist', async (t) => {
  const { signInAs, registerFor, platform, url, api, auth } = await started();
  const [browser, emils] = [await signInAs('ann'), await signInAs('emil')];
  const app = await registerFor('dora', REPORTS);
  const { access_token: token } = (await runCodeFlow(platform, app, { browser: emils })).body;
  const grants = `${app.client.id}/grants`;
  const paths = [`${app.client.id}/revoke`, `${grants}/${String(decodeJwt(token)['grant_id'])}/revoke`];
  for (const path of paths) {
    t.is((await browser.get(url(`/account/apps/${path}`))).location?.pathname, '/account/apps');
    const signedOut = await new Browser().post(url(`/account/apps/${path}`), NO_FIELDS);
    t.is(signedOut.heading, 'You are no longer signed in');
    await emils.get(url(`/account/apps/${path}`));
  }
  for (const id of ['%00', 'x'.repeat(2000), '..%2f..', '%F0%9F%92%A3', 'third%00', '__proto__'])
    paths.push(`${id}/revoke`, `${grants}/${id}/revoke`);
  for (const path of paths)
    t.is((await browser.post(url(`/account/apps/${path}`), NO_FIELDS)).status, 303, path);
  t.true((await browser.post(url('/account/apps/%FF/revoke'), NO_FIELDS)).status < 500);
  t.is((await api('/identity', token)).status, 200);
  t.deepEqual(await auth.audit.list({ clientId: app.client.id, types: ['consent_withdrawn'] }), []);
});

test('the options move the pages, and switch those of apps off', async (t) => {
  const moved = await openDeveloperPlatform(t, {
    paths: { account: '/me/apps' },
    developer: { path: false },
  });
  const signedOut = await new Browser().get(moved.url('/me/apps'));
  t.is(signedOut.location?.href, moved.url('/oauth/login?return_to=%2Fme%2Fapps').href);
  const browser = await moved.signInAs('ann');
  const page = await browser.open(moved.url('/me/apps'));
  t.is(page.heading, 'Connected apps');
  t.true(page.text.includes('No app can use your Acme Schools account.'));
  for (const path of ['/account/apps', '/developer/apps'])
    t.is((await browser.open(moved.url(path))).status, 404);
});

const titlesOf = ({ html }: Page): number => html.match(/<p class="title">/g)?.length ?? 0;

test('above twenty apps users search by name; a page has fifty, and a search has as many pages as it needs', async (t) => {
  const many = memoryStorage();
  const own = await openDeveloperPlatform(t, { storage: many });
  const browser = await own.signInAs('ann');
  const add = async (number: number): Promise<void> => {
    const client = aClient({
      id: `app ${number}`,
      name: `${number % 2 ? 'Odd' : 'Even'} <${number}>`,
      disabled: false,
    });
    await many.clients.insert(client, []);
    await many.consents.add(aConsent({ userId: 'ann', clientId: client.id, createdAt: number }));
  };
  for (let number = 0; number < 20; number += 1) await add(number);
  const few = await browser.open(own.url('/account/apps'));
  t.false(few.html.includes('type="search"'));
  for (let number = 20; number < 120; number += 1) await add(number);
  const first = await browser.open(own.url('/account/apps'));
  t.is(titlesOf(first), 50);
  t.regex(first.text, /120 apps can use your Acme Schools account\. Search by name/);
  const second = await browser.open(nextPageOn(first)!);
  t.is(titlesOf(second), 50);
  const last = await browser.open(nextPageOn(second)!);
  t.is(titlesOf(last), 20);
  t.is(nextPageOn(last), undefined);
  t.true(last.html.includes('href="/account/apps">First page'));
  const odd = await browser.open(own.url('/account/apps?search=+oDD+'));
  t.is(titlesOf(odd), 50);
  t.is(titlesOf(await browser.open(nextPageOn(odd)!)), 10);
  t.true(odd.html.includes('value="oDD"'));
  t.is(titlesOf(await browser.open(own.url('/account/apps?search=%3C77%3E'))), 1);
  const none = await browser.open(own.url(`/account/apps?search=%3Cb%3E${'x'.repeat(5000)}`));
  t.is(titlesOf(none), 0);
  t.regex(none.text, /None of them has this name\. Show all/);
  t.false(none.html.includes('<b>x'));
  for (const after of ['unknown', '%00', 'a&after=b'])
    t.is(titlesOf(await browser.open(own.url(`/account/apps?after=${after}`))), 50, 'the first page');
});

test('a connection that ends while another node refreshes it stays ended, and the others stay', async (t) => {
  const paused = pausable(memoryStorage());
  const own = await openDeveloperPlatform(t, { storage: paused.storage });
  const app = await own.registerFor('dora', REPORTS);
  const { client } = app;
  const browser = await own.signInAs('ann');
  const [phone, desk] = [
    (await runCodeFlow(own, app, { browser })).body,
    (await runCodeFlow(own, app, { browser })).body,
  ];
  const page = pageOf(browser, own);
  const id = decodeJwt(phone.access_token)['grant_id'] as string;
  const { reached, resume } = paused.pause('grants.redeem');
  const late = exchangeRefreshToken(own, app, phone.refresh_token);
  await reached;
  t.is(await page.end(client.id, id), 303);
  t.is(await page.end(client.id, id), 303);
  resume();
  t.is((await late).body.error, 'invalid_grant');
  t.false(await works(own, phone.access_token));
  t.true(await works(own, desk.access_token));
  // The connection is one of another app.
  t.is(await page.end('another', decodeJwt(desk.access_token)['grant_id'] as string), 303);
  t.is((await exchangeRefreshToken(own, app, desk.refresh_token)).status, 200);
  t.true((await browser.open(own.url('/account/apps'))).text.includes('1 connection:'));
  t.is((await own.auth.audit.list({ types: ['tokens_revoked'] })).length, 1);
});

test('an authorization that has read the consent asks again when the app is disconnected before the code', async (t) => {
  const paused = pausable(memoryStorage());
  const own = await openDeveloperPlatform(t, { storage: paused.storage });
  const app = await own.registerFor('dora', REPORTS);
  const browser = await own.signInAs('ann');
  await runCodeFlow(own, app, { browser });
  const { reached, resume } = paused.pause('grants.insert');
  const answer = browser.get(authorizeUrl(own, app));
  await reached;
  t.is(await pageOf(browser, own).disconnect(app.client.id), 303);
  resume();
  const { location } = await answer;
  t.is(location?.href, authorizeUrl(own, app).href);
  t.is((await browser.open(location!)).heading, 'Authorize Reports');
  t.deepEqual(await paused.storage.grants.revoke({ userId: 'ann', clientId: app.client.id }, 0), []);
  t.deepEqual(await own.auth.audit.list({ types: ['authorization_refused'] }), []);
});

test('ten concurrent calls disconnect once, with one audit event; one that fails half-way can be repeated', async (t) => {
  const { broken, storage: breaking } = breakable(memoryStorage(), new Error('the database is unreachable'));
  broken.add('consents.delete');
  const own = await openDeveloperPlatform(t, { storage: breaking });
  const app = await own.registerFor('dora', REPORTS);
  const browser = await own.signInAs('ann');
  const { body } = await runCodeFlow(own, app, { browser });
  const page = pageOf(browser, own);
  t.is(await page.disconnect(app.client.id), 500);
  t.false(await works(own, body.access_token));
  t.is(await page.count(), 1);
  broken.clear();
  await Promise.all(Array.from({ length: 10 }, async () => page.disconnect(app.client.id)));
  t.is(await page.count(), 0);
  t.is((await own.auth.audit.list({ types: ['consent_withdrawn'] })).length, 1);
});

for (const moment of ['consents.delete', 'grants.revoke'] as const) {
  test(`the tokens of an authorization that ends before ${moment} are revoked`, async (t) => {
    const paused = pausable(memoryStorage());
    const own = await openDeveloperPlatform(t, { storage: paused.storage });
    const app = await own.registerFor('dora', REPORTS);
    const browser = await own.signInAs('ann');
    await runCodeFlow(own, app, { browser });
    const { reached, resume } = paused.pause(moment);
    const page = pageOf(browser, own);
    const disconnected = page.disconnect(app.client.id);
    await reached;
    const { body } = await runCodeFlow(own, app, { browser });
    t.true(await works(own, body.access_token));
    resume();
    t.is(await disconnected, 303);
    t.false(await works(own, body.access_token));
    t.is(await page.count(), 0);
  });
}
