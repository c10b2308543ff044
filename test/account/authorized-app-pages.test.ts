import test from 'ava';
import type { ExecutionContext } from 'ava';

import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { decodeJwt } from 'jose';
import type { Storage } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { REPORTS } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';
import type { DeveloperPlatform, startDeveloperPlatform } from './developers.ts';
import { until } from '../harness/until.ts';

async function openAuthorizedApps(
  t: ExecutionContext,
  given?: Parameters<typeof startDeveloperPlatform>[0],
): Promise<DeveloperPlatform & { readonly browser: Browser; readonly list: () => Promise<Page> }> {
  const platform = await openDeveloperPlatform(t, given);
  const browser = await platform.signInAs('ann');
  return { ...platform, browser, list: async () => browser.open(platform.url('/account/apps')) };
}

test('without authorized apps the page explains what it is for', async (t) => {
  const { list } = await openAuthorizedApps(t);
  const page = await list();
  t.is(page.heading, 'Connected apps');
  t.true(page.text.includes('No app can use your Acme Schools account.'));
  t.false(page.html.includes('Your apps'));
});

test('an app is listed with its scopes, and disconnected after a confirmation page', async (t) => {
  const platform = await openAuthorizedApps(t);
  const { browser, list, registerFor } = platform;
  const app = await registerFor('dora', REPORTS);
  const { body } = await runCodeFlow(platform, app, {
    browser,
    parameters: { scope: 'schools:read' },
  });
  let page = await list();
  t.regex(page.text, /Reports Disconnect Reports Authorized \w+ \d+, \d{4} · .* It can: See your schools/);
  await until(async () => {
    page = await list();
    return page.text.includes('Last used');
  });
  t.regex(page.text, /Authorized \w+ \d+, \d{4} · Last used \w+ \d+, \d{4}/);
  // There is no other one that could stay.
  t.regex(page.text, /1 connection: node, 127\.0\.0\.1 since \w+ \d+, \d{4}$/);
  t.is((await platform.api('/identity', body.access_token)).status, 200);

  const link = /href="([^"]+\/disconnect)"/.exec(page.html)?.[1] ?? '';
  const question = await browser.open(new URL(link, page.url));
  t.is(question.heading, 'Disconnect Reports ?');
  t.true(question.text.includes('It loses its access to your account at once.'));
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  const done = await browser.submit(question, 'Disconnect');
  t.is(done.status, 303);
  t.is(done.location?.href, platform.url('/account/apps?done=disconnected').href);
  const after = await browser.follow(done);
  t.true(after.text.startsWith('The app is disconnected. It has no access to your account any more.'));
  t.false(after.html.includes('Reports'));
  t.is((await platform.api('/identity', body.access_token)).status, 401);

  // A second click, and a link that was stored.
  t.is((await browser.submit(question, 'Disconnect')).location?.pathname, '/account/apps');
  t.is((await browser.get(new URL(link, page.url))).location?.pathname, '/account/apps');
});

test('an app without scopes may do everything; a disabled app is shown as disabled', async (t) => {
  const platform = await openAuthorizedApps(t);
  const { auth, browser, list, registerFor } = platform;
  const app = await registerFor('dora', { ...REPORTS, name: '<b>Reports' });
  await runCodeFlow(platform, app, { browser });
  t.true((await list()).text.includes('It can do everything that you can do.'));
  await auth.clients.disable(app.client.id);
  const page = await list();
  t.true(page.text.includes('Switched off'));
  t.true(page.html.includes('<bdi>&lt;b&gt;Reports</bdi>'));
});

/** Adds a connection of Ann's phone. */
async function addConnection(
  { grants }: Pick<Storage, 'grants'>,
  clientId: string,
  id: string,
): Promise<void> {
  await grants.insert(
    {
      id,
      userId: 'ann',
      clientId,
      scopes: undefined,
      createdAt: 1_750_000_000,
      expiresAt: 9_999_999_999,
      revokedAt: undefined,
      sequence: Number.MAX_SAFE_INTEGER,
      sessionUid: undefined,
      origin: { address: '2001:db8::7', userAgent: 'Mozilla/5.0 (Linux; Android 14) <b>' },
    },
    {
      kind: 'code',
      id: `of ${id}`,
      grantId: id,
      payload: {},
      expiresAt: 0,
      consumedAt: 1,
      sealedSuccessor: undefined,
    },
  );
}

test('of an app with more than 50 connections those used last are listed', async (t) => {
  const storage = memoryStorage();
  const platform = await openAuthorizedApps(t, { storage });
  const { browser, list, registerFor } = platform;
  const app = await registerFor('dora', REPORTS);
  await runCodeFlow(platform, app, { browser });
  for (let number = 1; number < 50; number += 1) await addConnection(storage, app.client.id, String(number));
  t.true((await list()).text.includes(' 50 connections: node, 127.0.0.1 since'));
  await addConnection(storage, app.client.id, '50');
  const { html, text } = await list();
  t.true(text.includes('More than 50 connections. Those used last: node, 127.0.0.1 since'), text);
  t.is(html.split('/end"').length - 1, 50);
});

test('an app on several machines is one entry, and each connection is ended alone', async (t) => {
  const storage = memoryStorage();
  const platform = await openAuthorizedApps(t, { storage });
  const { browser, list, registerFor } = platform;
  const app = await registerFor('dora', REPORTS);
  const laptop = (await runCodeFlow(platform, app, { browser })).body;
  const phone = (await runCodeFlow(platform, app, { browser })).body;
  await addConnection(storage, app.client.id, 'third');
  await storage.grants.touch('third', 1_750_086_400);
  const page = await list();
  t.is(page.html.split('<bdi>Reports</bdi>').length, 2);
  t.regex(page.text, /3 connections: node, 127\.0\.0\.1 since/);
  t.regex(page.text, /Android, 2001:db8::7 since Jun 15, 2025 · Last used Jun 16, 2025 End/);

  const links = [...page.html.matchAll(/href="([^"]+\/end)"/g)].map(([, href]) => new URL(href!, page.url));
  t.is(links.length, 3);
  const grantOfPhone = decodeJwt(phone.access_token)['grant_id'] as string;
  const link = links.find(({ pathname }) => pathname.includes(grantOfPhone))!;
  const question = await browser.open(link);
  t.is(question.heading, 'End this connection of Reports ?');
  t.regex(question.text, /node, 127\.0\.0\.1 , since .* Other connections of the app stay\./);
  const done = await browser.submit(question, 'End');
  t.is(done.location?.href, platform.url('/account/apps?done=ended').href);
  const after = await browser.follow(done);
  t.true(after.text.startsWith('The connection is ended.'));
  t.true(after.text.includes('2 connections:'));
  t.is((await platform.api('/identity', phone.access_token)).status, 401);
  t.is((await platform.api('/identity', laptop.access_token)).status, 200);

  // A second click, a link that was stored, and ids that are none.
  t.is((await browser.submit(question, 'End')).status, 303);
  t.is((await browser.get(link)).location?.pathname, '/account/apps');
  for (const id of ['%00', 'x'.repeat(2000), '%FF', 'third%00'])
    t.true(
      (
        await browser.post(
          platform.url(`/account/apps/${app.client.id}/connections/${id}/end`),
          new URLSearchParams(),
        )
      ).status < 500,
      id,
    );
  const [revoked, ...others] = await platform.auth.audit.list({ types: ['tokens_revoked'] });
  t.like(revoked, { target: 'grant', grantId: grantOfPhone, userId: 'ann', actorId: 'ann' });
  t.is(others.length, 0);
});

test('a user cannot disconnect an app for another user, and a form of another site is refused', async (t) => {
  const platform = await openAuthorizedApps(t);
  const { browser, signInAs, registerFor, url } = platform;
  const app = await registerFor('dora', REPORTS);
  const emils = await signInAs('emil');
  const { body } = await runCodeFlow(platform, app, { browser: emils });
  const address = url(`/account/apps/${app.client.id}/disconnect`);
  const connection = decodeJwt(body.access_token)['grant_id'] as string;
  const ofConnection = url(`/account/apps/${app.client.id}/connections/${connection}/end`);

  for (const one of [address, ofConnection]) {
    t.is((await browser.get(one)).location?.pathname, '/account/apps');
    t.is((await browser.post(one, new URLSearchParams())).status, 303);
  }
  const crossed = await emils.post(address, new URLSearchParams(), { 'sec-fetch-site': 'cross-site' });
  t.is(crossed.status, 403);
  await emils.get(address);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  for (const id of ['%00', 'x'.repeat(2000), '..%2f..', '%F0%9F%92%A3', '%FF']) {
    const answer = await browser.post(url(`/account/apps/${id}/disconnect`), new URLSearchParams());
    t.true(answer.status < 500, id);
  }
});

test('the page redirects to the login, and a form without a session is refused', async (t) => {
  const { url } = await openAuthorizedApps(t);
  const browser = new Browser();
  const answer = await browser.get(url('/account/apps'));
  t.is(answer.status, 303);
  t.is(answer.location?.href, url('/oauth/login?return_to=%2Faccount%2Fapps').href);
  const posted = await browser.post(url('/account/apps/x/disconnect'), new URLSearchParams());
  t.is(posted.heading, 'You are no longer signed in');
});

test('accountPath moves the page, and developerPath: false switches the developer area off', async (t) => {
  const { browser, url } = await openAuthorizedApps(t, { paths: { account: '/me/apps', developer: false } });
  t.is((await browser.open(url('/me/apps'))).heading, 'Connected apps');
  t.is((await browser.open(url('/account/apps'))).status, 404);
  t.is((await browser.open(url('/developer/apps'))).status, 404);
});
