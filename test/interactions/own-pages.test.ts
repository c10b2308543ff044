import test from '../harness/test.ts';
import type { Interactions } from 'koa-gatehouse';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';

/** A host's own pages, whose forms say what they are for; other requests pass through. */
const ownPages: Interactions = (flow) => ({
  async middleware(ctx, next) {
    const login = await flow.login(ctx);
    const page = login ?? (await flow.consent(ctx));
    if (!page) return next();
    if (page.kind === 'redirect') ctx.redirect(page.url);
    else if (page.kind === 'error') ctx.body = `<h1>${page.error}</h1>`;
    else ctx.body = `<h1>${page === login ? 'login' : 'consent'} for ${page.client.name}</h1>`;
    return undefined;
  },
  async error(ctx, { error, status }) {
    ctx.status = status;
    ctx.body = `<h1>${error}</h1>`;
  },
});

const ANN = new URLSearchParams({ login: 'ann@school.example', password: 'correct horse' });
const NO_FIELDS = new URLSearchParams();

test('an answer to another prompt than the one of the interaction is refused', async (t) => {
  await using platform = await startPlatform({ interactions: ownPages });
  const app = await platform.registerApp();
  const browser = new Browser();
  const answerAt = async (url: URL, answer: string, form = NO_FIELDS) =>
    browser.post(new URL(`${url.pathname}/${answer}`, url), form);
  const first = await browser.open(authorizeUrl(platform, app));
  const consent = await browser.open((await answerAt(first.url, 'login', ANN)).location!);
  t.is(consent.heading, 'consent for Reports');
  t.is((await answerAt(consent.url, 'login', ANN)).status, 400);
  // The same user is asked for a password, and has consented to nothing.
  const login = await browser.open(authorizeUrl(platform, app, { prompt: 'login' }));
  t.is(login.heading, 'login for Reports');
  for (const answer of ['consent', 'deny', 'switch']) {
    const { heading, location, status } = await answerAt(login.url, answer);
    t.deepEqual([status, heading, location], [400, 'interaction_expired', undefined], answer);
  }
  const end = await answerAt(consent.url, 'deny');
  t.is(end.location?.searchParams.get('error'), 'access_denied');
});

test('what no page of the host can forget: the origin of forms, the status, no caching, Retry-After', async (t) => {
  await using platform = await startPlatform({
    interactions: ownPages,
    limits: { attempts: { login: { perAccountAndAddress: 1 } } },
  });
  const browser = new Browser();
  const { url } = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  const action = new URL(`${url.pathname}/login`, url);
  const wrong = new URLSearchParams({ login: 'ann@school.example', password: 'wrong' });
  const foreign = await browser.post(action, ANN, { 'sec-fetch-site': 'cross-site' });
  t.deepEqual([foreign.status, foreign.heading], [403, 'invalid_request']);
  t.deepEqual(foreign.response.headers.getSetCookie(), []);
  for (const [form, status] of [
    [NO_FIELDS, 422],
    [wrong, 422],
    [ANN, 429],
  ] as const) {
    const page = await browser.post(action, form);
    t.deepEqual([page.status, page.heading], [status, 'login for Reports']);
    t.is(page.response.headers.get('cache-control'), 'no-store');
    t.is(page.response.headers.has('retry-after'), status === 429);
  }
  t.is(
    platform.logger.lines.filter(({ fields }) => Object.values(fields).includes('ERR_CROSS_SITE')).length,
    1,
  );
});

test('a page that authenticates in another way gives the user, in an authorization and outside of it', async (t) => {
  await using platform = await startPlatform({
    interactions: (flow) => ({
      ...ownPages(flow),
      async middleware(ctx, next) {
        const ann = { id: '1', name: 'Ann' };
        const isPasskey = ctx.path.endsWith('/passkey');
        const page = isPasskey
          ? ((await flow.login(ctx, ann)) ?? (await flow.loginWithoutClient(ctx, ann)))
          : undefined;
        if (!page) return ownPages(flow).middleware(ctx, next);
        if (page.kind === 'redirect') ctx.redirect(page.url);
        else if (page.kind === 'error') ctx.body = `<h1>${page.error}</h1>`;
        return undefined;
      },
    }),
  });
  const browser = new Browser();
  const app = await platform.registerApp();
  const { url } = await browser.open(authorizeUrl(platform, app));
  const passkey = new URL(`${url.pathname}/passkey`, url);
  const foreign = await browser.post(passkey, NO_FIELDS, { 'sec-fetch-site': 'cross-site' });
  t.is(foreign.status, 403);
  const consent = await browser.open((await browser.post(passkey, NO_FIELDS)).location!);
  t.is(consent.heading, 'consent for Reports');
  const late = await browser.post(new URL(`${consent.url.pathname}/passkey`, url), NO_FIELDS);
  t.deepEqual([late.status, late.heading], [400, 'interaction_expired']);

  const other = new Browser();
  const signedIn = await other.post(platform.url('/oauth/login/passkey'), NO_FIELDS);
  t.is(signedIn.location?.pathname, '/account/apps');
  const page = await other.open(authorizeUrl(platform, app));
  t.is(page.heading, 'consent for Reports');
});

test('own pages can pass which of the optional scopes the user grants', async (t) => {
  const answers: (readonly string[])[] = [];
  const shown: unknown[] = [];
  await using platform = await startPlatform({
    scopes: {
      'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
      'schools:write': { description: 'Change your schools', permissions: ['edit_schools'], optional: true },
      profile: { description: 'See your name', permissions: [], optional: true },
    },
    interactions: (flow) => ({
      ...ownPages(flow),
      async middleware(ctx, next) {
        const consent = await flow.consent(ctx);
        if (consent?.kind !== 'form') return ownPages(flow).middleware(ctx, next);
        shown.push(consent.scopes);
        const page = await flow.consent(ctx, answers.shift());
        if (page?.kind === 'redirect') ctx.redirect(page.url);
        else if (page?.kind === 'error') ctx.body = `<h1>${page.error}</h1>`;
        else ctx.body = `<h1>${page?.problems.join(' ')}</h1>`;
        return undefined;
      },
    }),
  });
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  await browser.post(new URL(`${login.url.pathname}/login`, login.url), ANN);
  const scopeFor = async (scope: string, chosen: readonly string[]): Promise<string | number> => {
    answers.push(chosen);
    const page = await browser.open(authorizeUrl(platform, app, { scope }));
    if (!page.location) return `${page.status} ${page.heading}`;
    const { body } = await exchangeCode(platform, app, page.location.searchParams.get('code'));
    return body.scope ?? '';
  };
  const all = 'schools:read schools:write profile';
  t.is(await scopeFor(all, ['schools:read', 'unknown']), '422 invalid_request');
  t.is(await scopeFor('schools:write profile', []), '422 nothing_granted');
  t.is(await scopeFor(all, ['profile', 'profile', 'schools:read']), 'schools:read profile');
  t.is(await scopeFor(all, ['schools:write', 'profile']), all);
  const names = {
    aboutUser: false,
    optional: false,
    field: undefined,
    checked: false,
    consented: true,
    tools: [],
    readOnly: false,
  };
  t.deepEqual(shown.at(-1), [
    { ...names, name: 'schools:read', description: 'See your schools' },
    {
      ...names,
      name: 'schools:write',
      description: 'Change your schools',
      optional: true,
      field: 'scope-0',
      checked: true,
      consented: false,
    },
    { ...names, name: 'profile', description: 'See your name', readOnly: true },
  ]);
  t.true(platform.logger.lines.every(({ level }) => level === 'info'));
});

test('a 4xx error of a page has a page with its status, and is not logged', async (t) => {
  await using platform = await startPlatform({
    interactions: (flow) => ({
      ...ownPages(flow),
      async middleware(ctx) {
        if (ctx.method === 'POST') ctx.throw(413, 'too long');
        if (ctx.query['fault'] !== undefined) ctx.throw(502, 'the mail server failed');
        await ownPages(flow).middleware(ctx, async () => {});
      },
    }),
  });
  const path = platform.url('/oauth/interaction/unknown');
  const browser = new Browser();
  const expired = await browser.get(path);
  t.deepEqual([expired.status, expired.heading], [400, 'interaction_expired']);
  const long = await browser.post(path, new URLSearchParams({ password: 'x' }));
  t.deepEqual([long.status, long.heading], [413, 'invalid_request']);
  const failures = (): string[] =>
    platform.logger.lines
      .filter(({ level }) => level !== 'info')
      .map(({ level, message }) => `${level} ${message}`);
  t.deepEqual(failures(), []);

  const failed = await browser.get(`${path.href}?fault`);
  t.deepEqual([failed.status, failed.heading], [500, 'server_error']);
  t.deepEqual(failures(), ['error page failed']);
});
