import type { ExecutionContext } from 'ava';
import { decodeJwt } from 'jose';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { pausable } from '../harness/storage.ts';
import { asClient, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';

const READ = { description: 'See your schools', permissions: ['view_schools'] } as const;
const WRITE = { description: 'Change your schools', permissions: ['edit_schools'] } as const;
const SCOPES = {
  'schools:read': READ,
  'schools:write': { ...WRITE, optional: true },
  profile: { description: 'See your name', permissions: [], optional: true },
  admin: { description: 'Manage all', permissions: [] },
} as const;
const BOTH = 'schools:read schools:write';
const LEFT_OUT = 'schools:read';

/** A platform on a database, and a user who is signed in there. */
interface Setup {
  readonly t: ExecutionContext;
  readonly address: string;
  readonly platform: Platform;
  readonly storage: ReturnType<typeof pausable>['storage'];
  readonly pause: ReturnType<typeof pausable>['pause'];
  readonly browser: Browser;
}

function onPlatforms(title: string, run: (setup: Setup) => Promise<void>): void {
  onEachDatabase(title, async (t, _, address) => {
    const { storage, pause } = pausable(knexStorage(address));
    await using platform = await startPlatform({ storage, scopes: SCOPES });
    const browser = await signedIn(platform);
    await run({ t, address, platform, storage, pause, browser });
    await storage.close();
  });
}

/** Cleo has the permissions to view and to edit schools. */
async function signedIn(platform: Platform, browser = new Browser()): Promise<Browser> {
  const page = await browser.open(platform.url('/oauth/login'));
  await signIn(browser, page, 'cleo@school.example', 'open sesame');
  return browser;
}

async function ask(
  { browser, platform }: Pick<Setup, 'browser' | 'platform'>,
  app: RegisteredApp,
  scope: string,
  parameters: Record<string, string> = {},
): Promise<Page> {
  return browser.open(authorizeUrl(platform, app, { scope, ...parameters }));
}

/** Authorizes with only these boxes checked. */
async function grant(browser: Browser, page: Page, checked: readonly string[]): Promise<Page> {
  const boxes = page.boxesOf('Authorize').filter(({ value }) => checked.includes(value));
  return browser.follow(
    await send(browser, page, Object.fromEntries(boxes.map((box) => [box.name, box.value]))),
  );
}

async function send(browser: Browser, page: Page, fields: Record<string, string>): Promise<Page> {
  return browser.post(page.actionOf('Authorize'), new URLSearchParams(fields));
}

async function redeem(platform: Platform, app: RegisteredApp, { location }: Page): Promise<TokenAnswer> {
  return exchangeCode(platform, app, location?.searchParams.get('code'));
}

async function tokensOf(
  { browser, platform }: Pick<Setup, 'browser' | 'platform'>,
  app: RegisteredApp,
  page: Page,
  checked: readonly string[],
): Promise<TokenAnswer['body']> {
  return (await redeem(platform, app, await grant(browser, page, checked))).body;
}

async function introspect(platform: Platform, app: RegisteredApp, token: string): Promise<unknown> {
  return (await postForm(platform.url('/oauth/introspect'), { token, ...asClient(app) })).body;
}

const choicesOf = (page: Page): string[] => page.boxesOf('Authorize').map(({ label }) => label);

onPlatforms('an unchecked scope is in no token, and the token response says so', async (setup) => {
  const { t, platform, storage } = setup;
  const app = await platform.registerApp();
  const page = await ask(setup, app, BOTH);
  t.deepEqual(page.boxesOf('Authorize'), [
    { name: 'scope-0', value: 'schools:write', label: 'Change your schools', isChecked: true },
  ]);
  t.true(page.text.includes('It will be able to: See your schools'), page.text);

  const first = await tokensOf(setup, app, page, []);
  t.is(first.scope, LEFT_OUT);
  const refreshed = await exchangeRefreshToken(platform, app, first.refresh_token);
  t.is(refreshed.body.scope, LEFT_OUT);
  for (const { access_token, refresh_token } of [first, refreshed.body]) {
    t.is(decodeJwt(access_token)['scope'], LEFT_OUT);
    t.like(await introspect(platform, app, access_token), { active: true, scope: LEFT_OUT });
    t.like(await introspect(platform, app, refresh_token), { scope: LEFT_OUT });
  }
  const { body: identity } = await platform.api('/identity', refreshed.body.access_token);
  t.like(identity, { data: { scopes: [LEFT_OUT], permissions: ['view_schools'] } });
  const more = await exchangeRefreshToken(platform, app, refreshed.body.refresh_token, { scope: BOTH });
  t.like(more, { status: 400, body: { error: 'invalid_scope' } });

  const consent = await storage.consents.find('3', app.client.id);
  t.like(consent, { scopes: [LEFT_OUT], hosts: { 'https://reports.example': [LEFT_OUT] } });
  const [given] = await platform.auth.audit.list({ clientId: app.client.id, types: ['consent_given'] });
  t.deepEqual((given as { scopes?: unknown })?.scopes, [LEFT_OUT]);
});

onPlatforms('boxes that stay checked are granted', async (setup) => {
  const { t, platform, storage } = setup;
  const app = await platform.registerApp();
  const { body } = await runCodeFlow(platform, app, { ...setup, parameters: { scope: BOTH } });
  t.is(body.scope, BOTH);
  t.deepEqual((await storage.consents.find('3', app.client.id))?.scopes, ['schools:read', 'schools:write']);
  t.truthy((await ask(setup, app, BOTH)).location?.searchParams.get('code'), 'remembered');
});

onPlatforms(
  'a declined scope is asked for when it is requested again, and never granted silently',
  async (setup) => {
    const { t, browser, platform } = setup;
    const app = await platform.registerApp();
    const first = await tokensOf(setup, app, await ask(setup, app, BOTH), []);

    const fewer = await ask(setup, app, LEFT_OUT);
    t.truthy(fewer.location?.searchParams.get('code'), 'what was granted is not asked for again');
    const silent = await ask(setup, app, BOTH, { prompt: 'none' });
    t.is(silent.location?.searchParams.get('error'), 'consent_required');

    const again = await ask(setup, app, BOTH);
    t.deepEqual(choicesOf(again), ['Change your schools']);
    t.true(again.text.includes('Reports is asking for more access to your Acme Schools account.'));
    t.regex(
      again.html,
      /<details class="access">\s*<summary>What it can do already<\/summary>\s*<ul>\s*<li>See your schools<\/li>/,
    );
    t.false(again.text.includes('It will be able to:'));
    t.is((await tokensOf(setup, app, again, [])).scope, LEFT_OUT, 'declined again');

    const now = await tokensOf(setup, app, await ask(setup, app, BOTH), ['schools:write']);
    t.is(now.scope, BOTH);
    t.like(
      await introspect(platform, app, first.access_token),
      { scope: LEFT_OUT },
      'tokens get no scopes later',
    );
    t.truthy((await ask(setup, app, BOTH)).location?.searchParams.get('code'));
    t.is((await browser.open(platform.url('/account/apps'))).text.includes('Change your schools'), true);
  },
);

onPlatforms(
  'a client that requests more scopes gets a page for the new ones, and a token for all',
  async (setup) => {
    const { t, platform, storage } = setup;
    const app = await platform.registerApp();
    await runCodeFlow(platform, app, { ...setup, parameters: { scope: 'schools:read' } });
    const page = await ask(setup, app, 'schools:read admin profile');
    t.regex(
      page.text,
      /It will also be able to: Manage all You choose whether it can: See your name What it can do already See your schools/,
    );
    t.is((await tokensOf(setup, app, page, [])).scope, 'schools:read admin');
    const events = await platform.auth.audit.list({ clientId: app.client.id, types: ['consent_given'] });
    t.deepEqual(
      events.map((event) => (event as { scopes?: readonly string[] }).scopes),
      [['admin'], ['schools:read']],
      'each event has the scopes that its page asked for',
    );
    t.deepEqual((await storage.consents.find('3', app.client.id))?.scopes, ['admin', 'schools:read']);
  },
);

onPlatforms(
  'when all new scopes are declined, the app gets what it had, and nothing is written',
  async (setup) => {
    const { t, browser, platform, storage } = setup;
    const app = await platform.registerApp();
    await runCodeFlow(platform, app, { ...setup, parameters: { scope: 'schools:read' } });
    const before = await storage.consents.find('3', app.client.id);
    const page = await ask(setup, app, BOTH, { prompt: 'consent' });
    const end = await grant(browser, page, []);
    t.is((await redeem(platform, app, end)).body.scope, LEFT_OUT);
    t.like(await storage.consents.find('3', app.client.id), {
      scopes: before!.scopes,
      updatedAt: before!.updatedAt,
    });
    const events = await platform.auth.audit.list({ clientId: app.client.id, types: ['consent_given'] });
    t.is(events.length, 1);
  },
);

onPlatforms(
  'with prompt=consent and nothing new, the page lists all and nothing can be declined',
  async (setup) => {
    const { t, platform } = setup;
    const app = await platform.registerApp();
    await runCodeFlow(platform, app, { ...setup, parameters: { scope: BOTH } });
    const page = await ask(setup, app, BOTH, { prompt: 'consent' });
    t.true(page.text.includes('It will be able to: See your schools Change your schools'), page.text);
    t.deepEqual(choicesOf(page), []);
    t.is((await tokensOf(setup, app, page, [])).scope, BOTH);
  },
);

onPlatforms(
  'when nothing would be left, the page is shown again: a request without scopes would have no limit',
  async (setup) => {
    const { t, browser, platform, storage } = setup;
    for (const scopes of [undefined, ['profile', 'schools:write', 'schools:read']]) {
      const app = await platform.registerApp({ scopes });
      const page = await ask(setup, app, 'schools:write profile');
      t.deepEqual(choicesOf(page), ['Change your schools', 'See your name']);
      const refused = await grant(browser, page, []);
      t.is(refused.status, 422);
      t.is(refused.heading, 'Authorize Reports');
      t.true(refused.text.includes('Leave at least one box checked, or refuse the access altogether.'));
      t.regex(refused.html, /<a href="#scope-0">/);
      t.false(refused.boxesOf('Authorize').some(({ isChecked }) => isChecked));
      t.is(await storage.consents.find('3', app.client.id), undefined);
      t.is((await tokensOf(setup, app, refused, ['profile'])).scope, 'profile');
    }
  },
);

onPlatforms(
  'of the scopes that a client is registered with, the declined ones are left out',
  async (setup) => {
    const { t, platform } = setup;
    const app = await platform.registerApp({ scopes: ['schools:read', 'schools:write'] });
    const body = await tokensOf(setup, app, await ask(setup, app, ''), []);
    t.is(body.scope, LEFT_OUT);
    t.like(await introspect(platform, app, body.access_token), { scope: LEFT_OUT });
  },
);

onPlatforms('a scope that is requested twice has one check box', async (setup) => {
  const { t, platform } = setup;
  const app = await platform.registerApp();
  const page = await ask(setup, app, `${BOTH} schools:write schools:read`);
  t.deepEqual(choicesOf(page), ['Change your schools']);
  t.is((await tokensOf(setup, app, page, [])).scope, LEFT_OUT);
});

onPlatforms('the scopes of each API are optional, declined and remembered for that API', async (setup) => {
  const { t, address } = setup;
  const storage = knexStorage(address);
  const resource = 'https://documents.example/v1';
  await using there = await startPlatform({
    storage,
    scopes: SCOPES,
    resources: {
      [resource]: {
        name: 'Documents',
        scopes: { 'schools:read': { ...READ, optional: true }, admin: SCOPES.admin },
      },
    },
  });
  const browser = await signedIn(there);
  const app = await there.registerApp();
  const at = { browser, platform: there };
  await runCodeFlow(there, app, { browser, parameters: { scope: 'schools:read' } });
  const page = await ask(at, app, 'schools:read admin', { resource });
  t.deepEqual(choicesOf(page), ['See your schools']);
  t.false(page.html.includes('<details'), 'the consent for another API');
  const { access_token: token, scope } = await tokensOf(at, app, page, []);
  t.is(scope, 'admin');
  t.like(decodeJwt(token), { aud: resource, scope: 'admin' });
  const more = await ask(at, app, 'schools:read admin', { resource });
  t.regex(more.text, /What it can do already Manage all/);
  t.is((await tokensOf(at, app, more, ['schools:read'])).scope, 'schools:read admin');
  t.truthy((await ask(at, app, 'schools:read admin', { resource })).location?.searchParams.get('code'));
  await storage.close();
});

const FORGED: readonly (readonly [string, Record<string, string>])[] = [
  ['a scope that was not requested', { 'scope-0': 'profile' }],
  ['a scope that was not requested and is not optional', { 'scope-0': 'schools:write', 'scope-1': 'admin' }],
  ['an unknown scope', { 'scope-0': 'unknown' }],
  ['two scopes in one field', { 'scope-0': 'schools:write admin' }],
  ['no scope', { 'scope-0': '' }],
  ['a prototype', { 'scope-0': '__proto__' }],
];

onPlatforms('a forged form grants nothing', async (setup) => {
  const { t, browser, platform, storage } = setup;
  const app = await platform.registerApp();
  const page = await ask(setup, app, BOTH);
  for (const [what, fields] of FORGED) {
    const refused = await send(browser, page, fields);
    t.is(refused.status, 422, what);
    t.is(refused.heading, 'That form could not be read', what);
    t.true(refused.text.includes('The app has not asked for this access:'), `${what}: ${refused.text}`);
  }
  for (const fields of [
    'scope-0=schools:write&scope-0=schools:write',
    'scope-0[]=schools:write',
    'scope-0=%00',
  ]) {
    const refused = await browser.post(page.actionOf('Authorize'), new URLSearchParams(fields));
    t.is(refused.status, 400, fields);
  }
  t.is(await storage.consents.find('3', app.client.id), undefined);
  // A scope in two fields, one that is granted anyway, and fields of other names change nothing.
  const fields = {
    'scope-0': 'schools:write',
    'scope-7': 'schools:write',
    'scope-8': 'schools:read',
    scope: 'admin',
  };
  const end = await browser.follow(await send(browser, page, fields));
  t.is((await redeem(platform, app, end)).body.scope, BOTH);
});

onPlatforms(
  'a form that is sent twice grants what each says, and the consent is that of both',
  async (setup) => {
    const { t, browser, platform, storage } = setup;
    const app = await platform.registerApp();
    const page = await ask(setup, app, 'schools:read schools:write profile');
    const [one, other] = await Promise.all([
      grant(browser, page, ['profile']),
      grant(browser, page, ['schools:write']),
    ]);
    t.is((await redeem(platform, app, one)).body.scope, 'schools:read profile');
    t.is((await redeem(platform, app, other)).body.scope, BOTH);
    const consent = await storage.consents.find('3', app.client.id);
    t.deepEqual(consent?.scopes, ['profile', 'schools:read', 'schools:write']);
  },
);

onPlatforms('a page in another tab: its own choice counts, whatever was granted meanwhile', async (setup) => {
  const { t, browser, platform, storage } = setup;
  const app = await platform.registerApp();
  const page = await ask(setup, app, BOTH);
  await runCodeFlow(platform, app, { browser, parameters: { scope: BOTH } });
  const end = await grant(browser, page, []);
  t.is((await redeem(platform, app, end)).body.scope, LEFT_OUT);
  t.deepEqual((await storage.consents.find('3', app.client.id))?.scopes, ['schools:read', 'schools:write']);
});

onPlatforms(
  'what an app had is not granted again when it is disconnected while the page is open',
  async (setup) => {
    const { t, browser, pause, platform, storage } = setup;
    for (const checked of [[], ['schools:write']]) {
      const app = await platform.registerApp();
      await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
      const page = await ask(setup, app, BOTH);
      t.deepEqual(choicesOf(page), ['Change your schools']);
      await browser.submit(
        await browser.open(platform.url(`/account/apps/${app.client.id}/disconnect`)),
        'Disconnect',
      );
      const end = await grant(browser, page, checked);
      t.is(end.location, undefined, end.location?.href);
      t.true(end.text.includes('See your schools'), end.text);
      t.deepEqual((await storage.consents.find('3', app.client.id))?.scopes ?? [], checked);
    }
    // The same while the answer is on its way.
    const app = await platform.registerApp();
    await runCodeFlow(platform, app, { browser, parameters: { scope: 'schools:read' } });
    const page = await ask(setup, app, BOTH);
    const { reached, resume } = pause('consents.add');
    const answer = browser.submit(page, 'Authorize');
    await reached;
    await storage.consents.delete('3', app.client.id);
    resume();
    const end = await browser.follow(await answer);
    t.is(end.heading, 'Authorize Reports');
    t.deepEqual((await storage.consents.find('3', app.client.id))?.scopes, ['schools:write']);
  },
);

onPlatforms(
  'an installed app on a free port gets what was granted, and has to ask each time',
  async (setup) => {
    const { t, browser, platform, storage } = setup;
    const registered = await platform.registerApp({
      native: true,
      confidential: false,
      redirectUris: ['http://127.0.0.1/callback'],
    });
    const { parameters, verifier } = pkce();
    const redirectUri = 'http://127.0.0.1:50001/callback';
    for (const [checked, scope] of [
      [[], LEFT_OUT],
      [['schools:write'], BOTH],
      [[], LEFT_OUT],
    ] as const) {
      const page = await ask(setup, registered, BOTH, { ...parameters, redirect_uri: redirectUri });
      t.true(page.text.includes('It will be able to: See your schools'), page.text);
      t.deepEqual(choicesOf(page), ['Change your schools']);
      const end = await grant(browser, page, checked);
      const { body } = await platform.token({
        grant_type: 'authorization_code',
        client_id: registered.client.id,
        redirect_uri: redirectUri,
        code: end.location?.searchParams.get('code'),
        code_verifier: verifier,
      });
      t.is(body.scope, scope);
    }
    t.deepEqual((await storage.consents.find('3', registered.client.id))?.hosts, {});
  },
);

onPlatforms(
  'the proof of a consent on a free port is not valid for the scopes that were declined',
  async (setup) => {
    const { t, browser, platform } = setup;
    const app = await platform.registerApp({
      native: true,
      confidential: false,
      redirectUris: ['http://127.0.0.1/callback'],
    });
    const { parameters } = pkce();
    const page = await ask(setup, app, BOTH, {
      ...parameters,
      redirect_uri: 'http://127.0.0.1:50001/callback',
    });
    const answer = await send(browser, page, {});
    const next = new URL(answer.location!);
    t.is(next.searchParams.get('scope'), LEFT_OUT);
    next.searchParams.set('scope', BOTH);
    t.is((await browser.open(next)).heading, 'Authorize Reports');
  },
);

onPlatforms('a first-party app gets all scopes without a page', async (setup) => {
  const { t, platform, storage } = setup;
  const app = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, app, { ...setup, parameters: { scope: BOTH } });
  t.is(body.scope, BOTH);
  t.is(await storage.consents.find('3', app.client.id), undefined);
});

onPlatforms('nodes with different options: the page that the user saw decides', async (setup) => {
  const { t, address, platform } = setup;
  const storage = knexStorage(address);
  await using there = await startPlatform({
    storage,
    issuer: platform.origin,
    users: platform.users,
    scopes: { 'schools:read': { ...READ, optional: true }, 'schools:write': WRITE },
  });
  // The paths of the pages are answered by the other node.
  let isThere = false;
  const browser = new Browser((url) => (isThere ? new URL(url.pathname + url.search, there.origin) : url));
  await signedIn(platform, browser);
  const app = await platform.registerApp();
  const page = await ask({ browser, platform }, app, BOTH);
  const withUnknown = await ask({ browser, platform }, app, 'schools:read admin');
  isThere = true;
  const { text } = await browser.open(withUnknown.url);
  t.true(text.includes('It will be able to: See your schools admin'), 'a scope that this node does not know');
  const end = await grant(browser, page, []);
  t.is((await redeem(platform, app, end)).body.scope, LEFT_OUT);

  const other = await platform.registerApp();
  const shown = await ask({ browser, platform }, other, BOTH);
  t.deepEqual(choicesOf(shown), ['See your schools']);
  isThere = false;
  t.is((await redeem(platform, other, await grant(browser, shown, []))).body.scope, 'schools:write');
  await storage.close();
});
