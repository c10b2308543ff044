import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { pkce } from '../harness/pkce.ts';
import { authorizeUrl, hasCode, runCodeFlow, signedIn, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { pausable } from '../harness/storage.ts';
import { asClient, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const READ = { description: 'See your schools', permissions: ['view_schools'] } as const;
const WRITE = { description: 'Change your schools', permissions: ['edit_schools'] } as const;
const ADMIN = { description: 'Manage all', permissions: [] } as const;
const DOCUMENTS = 'https://documents.example/v1';
const BOTH = 'schools:read schools:write';
const LEFT_OUT = 'schools:read';

const { storage, pause } = pausable(memoryStorage());
const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform({
      storage,
      scopes: {
        'schools:read': READ,
        'schools:write': { ...WRITE, optional: true },
        profile: { description: 'See your name', permissions: [], optional: true },
        admin: ADMIN,
      },
      resources: {
        [DOCUMENTS]: {
          name: 'Documents',
          scopes: { 'schools:read': { ...READ, optional: true }, admin: ADMIN },
        },
      },
    }),
  );
  const browser = await signedIn(platform, ...CLEO);
  return { platform, browser };
});

/** Who has the permissions to view and to edit schools. */
const CLEO = ['cleo@school.example', 'open sesame'] as const;

async function ask(
  app: RegisteredApp,
  scope: string,
  { by, ...parameters }: { by?: Browser; [parameter: string]: unknown } = {},
): Promise<Page> {
  const { browser, platform } = await started();
  return (by ?? browser).open(
    authorizeUrl(platform, app, { scope, ...(parameters as Record<string, string>) }),
  );
}

/** Authorizes with only these boxes checked. */
async function grant(page: Page, checked: readonly string[], by?: Browser): Promise<Page> {
  const { browser } = await started();
  const boxes = page.boxesOf('Authorize').filter(({ value }) => checked.includes(value));
  return (by ?? browser).follow(
    await send(page, Object.fromEntries(boxes.map(({ name, value }) => [name, value])), by ?? browser),
  );
}

async function send(page: Page, fields: string | Record<string, string>, by?: Browser): Promise<Page> {
  const { browser } = await started();
  return (by ?? browser).post(page.actionOf('Authorize'), new URLSearchParams(fields));
}

async function redeem(app: RegisteredApp, { location }: Page, more = {}): Promise<TokenAnswer['body']> {
  const { platform } = await started();
  return (await exchangeCode(platform, app, location?.searchParams.get('code'), more)).body;
}

async function tokensOf(app: RegisteredApp, page: Page, checked: readonly string[]) {
  return redeem(app, await grant(page, checked));
}

async function introspect(app: RegisteredApp, token: string): Promise<unknown> {
  const { platform } = await started();
  return (await postForm(platform.url('/oauth/introspect'), { token, ...asClient(app) })).body;
}

async function consentedScopes({ client }: RegisteredApp): Promise<readonly string[] | undefined> {
  return (await storage.consents.find('3', client.id))?.scopes;
}

/** The scopes of the recorded consents, the last one first. */
async function recordedScopes({ client }: RegisteredApp): Promise<unknown[]> {
  const { platform } = await started();
  const events = await platform.auth.audit.list({ clientId: client.id, types: ['consent_given'] });
  return events.map((event) => 'scopes' in event && event.scopes);
}

const choicesOf = (page: Page): string[] => page.boxesOf('Authorize').map(({ label }) => label);

test('an unchecked scope is in no token, and the token response says so', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const page = await ask(app, BOTH);
  t.deepEqual(page.boxesOf('Authorize'), [
    { name: 'scope-0', value: 'schools:write', label: 'Change your schools', isChecked: true },
  ]);
  t.true(page.text.includes('It will be able to: See your schools'), page.text);

  const first = await tokensOf(app, page, []);
  const refreshed = await exchangeRefreshToken(platform, app, first.refresh_token);
  for (const { access_token, refresh_token, scope } of [first, refreshed.body]) {
    t.is(scope, LEFT_OUT);
    t.is(decodeJwt(access_token)['scope'], LEFT_OUT);
    t.like(await introspect(app, access_token), { active: true, scope: LEFT_OUT });
    t.like(await introspect(app, refresh_token), { scope: LEFT_OUT });
  }
  const { body: identity } = await platform.api('/identity', refreshed.body.access_token);
  like(t, identity, { data: { scopes: [LEFT_OUT], permissions: ['view_schools'] } });
  const more = await exchangeRefreshToken(platform, app, refreshed.body.refresh_token, { scope: BOTH });
  t.like(more, { status: 400, body: { error: 'invalid_scope' } });

  like(t, await storage.consents.find('3', app.client.id), {
    scopes: [LEFT_OUT],
    hosts: { 'https://reports.example': [LEFT_OUT] },
  });
  t.deepEqual(await recordedScopes(app), [[LEFT_OUT]]);
});

test('where the platform does not vouch for the app, users check each box themselves', async (t) => {
  const { platform } = await started();
  for (const [fields, isChecked] of [
    [{ ownerId: '3' }, false],
    [{ ownerId: '3', verified: true }, true],
    [{}, true],
  ] as const) {
    const app = await platform.registerApp(fields);
    const [write] = (await ask(app, BOTH)).boxesOf('Authorize');
    t.like(write, { value: 'schools:write', isChecked }, JSON.stringify(fields));
  }
  const alone = await platform.registerApp({ ownerId: '3' });
  const page = await ask(alone, 'schools:write');
  t.true(page.boxesOf('Authorize')[0]!.isChecked, 'the button answers for the only scope');
});

test('a declined scope is asked for when it is requested again, and never granted silently', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const first = await tokensOf(app, await ask(app, BOTH), []);

  t.true(hasCode(await ask(app, LEFT_OUT)), 'what was granted is not asked for again');
  const silent = await ask(app, BOTH, { prompt: 'none' });
  t.is(silent.location?.searchParams.get('error'), 'consent_required');

  const again = await ask(app, BOTH);
  t.deepEqual(choicesOf(again), ['Change your schools']);
  t.true(again.text.includes('Reports is asking for more access to your Acme Schools account.'));
  t.regex(
    again.html,
    /<details class="access">\s*<summary>What it can do already<\/summary>\s*<ul>\s*<li>See your schools<\/li>/,
  );
  t.false(again.text.includes('It will be able to:'));
  t.is((await tokensOf(app, again, [])).scope, LEFT_OUT, 'declined again');

  t.is((await tokensOf(app, await ask(app, BOTH), ['schools:write'])).scope, BOTH);
  t.like(await introspect(app, first.access_token), { scope: LEFT_OUT }, 'tokens get no scopes later');
  t.true(hasCode(await ask(app, BOTH)));
  t.deepEqual(await consentedScopes(app), ['schools:read', 'schools:write']);
});

test('a client that requests more scopes gets a page for the new ones, and a token for all', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp();
  await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const before = await storage.consents.find('3', app.client.id);
  // When all new ones are declined, the app gets what it had, and nothing is written.
  const declined = await ask(app, BOTH, { prompt: 'consent' });
  t.is((await tokensOf(app, declined, [])).scope, LEFT_OUT);
  const { scopes, updatedAt } = before!;
  t.like(await storage.consents.find('3', app.client.id), { scopes, updatedAt });
  t.is((await recordedScopes(app)).length, 1);

  const page = await ask(app, 'schools:read admin profile');
  t.regex(
    page.text,
    /It will also be able to: Manage all You choose whether it can: See your name What it can do already See your schools/,
  );
  t.is((await tokensOf(app, page, [])).scope, 'schools:read admin');
  t.deepEqual(await recordedScopes(app), [['admin'], ['schools:read']], 'what each page asked for');
  t.deepEqual(await consentedScopes(app), ['admin', 'schools:read']);

  await runCodeFlow(platform, app, { browser, parameters: { scope: BOTH } });
  const nothingNew = await ask(app, BOTH, { prompt: 'consent' });
  t.true(nothingNew.text.includes('It will be able to: See your schools Change your schools'));
  t.deepEqual(choicesOf(nothingNew), [], 'nothing can be declined');
  t.is((await tokensOf(app, nothingNew, [])).scope, BOTH);
});

test('when nothing would be left, the page is shown again: a request without scopes would have no limit', async (t) => {
  const { platform } = await started();
  for (const scopes of [undefined, ['profile', 'schools:write', 'schools:read']]) {
    const app = await platform.registerApp({ scopes });
    const page = await ask(app, 'schools:write profile');
    t.deepEqual(choicesOf(page), ['Change your schools', 'See your name']);
    const refused = await grant(page, []);
    t.is(refused.status, 422);
    t.is(refused.heading, 'Authorize Reports');
    t.true(refused.text.includes('Leave at least one box checked, or refuse the access altogether.'));
    t.regex(refused.html, /<a href="#scope-0">/);
    t.false(refused.boxesOf('Authorize').some(({ isChecked }) => isChecked));
    t.is(await consentedScopes(app), undefined);
    t.is((await tokensOf(app, refused, ['profile'])).scope, 'profile');
  }
});

test('scopes of the registration, and those that are requested twice, have one check box each', async (t) => {
  const { platform } = await started();
  for (const [scopes, scope] of [
    [['schools:read', 'schools:write'], ''],
    [undefined, `${BOTH} schools:write schools:read`],
  ] as const) {
    const app = await platform.registerApp({ scopes });
    const page = await ask(app, scope);
    t.deepEqual(choicesOf(page), ['Change your schools']);
    const body = await tokensOf(app, page, []);
    t.is(body.scope, LEFT_OUT);
    t.like(await introspect(app, body.access_token), { scope: LEFT_OUT });
  }
});

test('the scopes of each API are optional, declined and remembered for that API', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp();
  await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
  const askThere = async (): Promise<Page> => ask(app, 'schools:read admin', { resource: DOCUMENTS });
  const page = await askThere();
  t.deepEqual(choicesOf(page), ['See your schools']);
  t.false(page.html.includes('<details'), 'the consent for another API');
  const { access_token: token, scope } = await tokensOf(app, page, []);
  t.is(scope, 'admin');
  t.like(decodeJwt(token), { aud: DOCUMENTS, scope: 'admin' });
  const more = await askThere();
  t.regex(more.text, /What it can do already Manage all/);
  t.is((await tokensOf(app, more, ['schools:read'])).scope, 'schools:read admin');
  t.true(hasCode(await askThere()));
});

test('a forged form grants nothing', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp();
  const page = await ask(app, BOTH);
  for (const fields of [
    { 'scope-0': 'profile' },
    { 'scope-0': 'schools:write', 'scope-1': 'admin' },
    { 'scope-0': 'unknown' },
    { 'scope-0': 'schools:write admin' },
    { 'scope-0': '' },
    { 'scope-0': '__proto__' },
    { access: 'admin' },
    { access: 'schools:read schools:write admin' },
  ]) {
    const refused = await send(page, fields);
    t.is(refused.status, 422, JSON.stringify(fields));
    t.is(refused.heading, 'That form could not be read');
    t.true(refused.text.includes('The app has not asked for this access:'), refused.text);
  }
  for (const fields of [
    'scope-0=schools:write&scope-0=schools:write',
    'scope-0[]=schools:write',
    'scope-0=%00',
  ])
    t.is((await send(page, fields)).status, 400, fields);
  t.is(await consentedScopes(app), undefined);
  // A scope in two fields, one that is granted anyway, and fields of other names change nothing.
  const harmless = {
    'scope-0': 'schools:write',
    'scope-7': 'schools:write',
    'scope-8': 'schools:read',
    scope: 'admin',
  };
  t.is((await redeem(app, await browser.follow(await send(page, harmless)))).scope, BOTH);
});

test('a form that is sent twice grants what each says, and the consent is that of both', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const page = await ask(app, 'schools:read schools:write profile');
  const [one, other] = await Promise.all([grant(page, ['profile']), grant(page, ['schools:write'])]);
  t.is((await redeem(app, one)).scope, 'schools:read profile');
  t.is((await redeem(app, other)).scope, BOTH);
  t.deepEqual(await consentedScopes(app), ['profile', 'schools:read', 'schools:write']);
});

test('a page in another tab: its own choice counts, whatever was granted meanwhile', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp();
  const page = await ask(app, BOTH);
  await runCodeFlow(platform, app, { browser, parameters: { scope: BOTH } });
  t.is((await tokensOf(app, page, [])).scope, LEFT_OUT);
  t.deepEqual(await consentedScopes(app), ['schools:read', 'schools:write']);
});

test.serial(
  'what an app had is not granted again when it is disconnected while the page is open',
  async (t) => {
    const { platform, browser } = await started();
    for (const checked of [[], ['schools:write']]) {
      const app = await platform.registerApp();
      await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
      const page = await ask(app, BOTH);
      t.deepEqual(choicesOf(page), ['Change your schools']);
      const confirm = await browser.open(platform.url(`/account/apps/${app.client.id}/revoke`));
      await browser.submit(confirm, 'Disconnect');
      const end = await grant(page, checked);
      t.is(end.location, undefined, end.location?.href);
      t.true(end.text.includes('See your schools'), end.text);
      t.deepEqual((await consentedScopes(app)) ?? [], checked);
    }
    // The same while the answer is on its way.
    const app = await platform.registerApp();
    await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
    const page = await ask(app, BOTH);
    const { reached, resume } = pause('consents.add');
    const answer = browser.submit(page, 'Authorize');
    await reached;
    await storage.consents.delete('3', app.client.id);
    resume();
    t.is((await browser.follow(await answer)).heading, 'Authorize Reports');
    t.deepEqual(await consentedScopes(app), ['schools:write']);
  },
);

test('the proof of a consent on a free port is not valid for the scopes that were declined', async (t) => {
  const { platform, browser } = await started();
  const app = await platform.registerApp({
    native: true,
    confidential: false,
    redirectUris: ['http://127.0.0.1/callback'],
  });
  const { parameters, verifier } = pkce();
  const redirect_uri = 'http://127.0.0.1:50001/callback';
  const page = await ask(app, BOTH, { ...parameters, redirect_uri });
  const answer = await send(page, {});
  const wider = new URL(answer.location!);
  t.is(wider.searchParams.get('scope'), LEFT_OUT);
  wider.searchParams.set('scope', BOTH);
  t.is((await browser.open(wider)).heading, 'Authorize Reports');
  const more = { redirect_uri, code_verifier: verifier };
  t.is((await redeem(app, await browser.follow(answer), more)).scope, LEFT_OUT);
  const again = await ask(app, BOTH, { ...parameters, redirect_uri });
  t.deepEqual(choicesOf(again), ['Change your schools'], 'it has to ask each time');
  t.true(again.text.includes('It will be able to: See your schools'), again.text);
});

test('nodes with different options: the page that the user saw decides', async (t) => {
  const { platform } = await started();
  await using there = await startPlatform({
    storage,
    issuer: platform.origin,
    users: platform.users,
    scopes: { 'schools:read': { ...READ, optional: true }, 'schools:write': WRITE },
  });
  // The paths of the pages are answered by the other node.
  let isThere = false;
  const toThere = (url: URL): URL => (isThere ? new URL(url.pathname + url.search, there.origin) : url);
  const by = await signedIn(platform, ...CLEO, new Browser(toThere));
  const app = await platform.registerApp();
  const page = await ask(app, BOTH, { by });
  const withUnknown = await ask(app, 'schools:read admin', { by });
  isThere = true;
  const { text } = await by.open(withUnknown.url);
  t.true(text.includes('It will be able to: See your schools admin'), 'a scope that this node does not know');
  t.is((await redeem(app, await grant(page, [], by))).scope, LEFT_OUT);

  const other = await platform.registerApp();
  const shown = await ask(other, BOTH, { by });
  t.deepEqual(choicesOf(shown), ['See your schools']);
  isThere = false;
  t.is((await redeem(other, await grant(shown, [], by))).scope, 'schools:write');
});
