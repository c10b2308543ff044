import test from 'ava';
import type { Interactions } from 'koa-gatehouse';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';

/** A host's own pages, which Ann answers by a path below them; other requests pass through. */
const ownPages: Interactions = (flow) => ({
  async middleware(ctx, next) {
    const [, uid, answer] = /^\/oauth\/interaction\/([^/]+)\/?(consent|deny|login)?$/.exec(ctx.path) ?? [];
    if (uid === undefined) return next();
    const interaction = await flow.find(ctx, uid);
    const ann = await flow.authenticate(ctx, 'ann@school.example', 'correct horse');
    if (answer === undefined) ctx.body = `<h1>${interaction.prompt} for ${interaction.client.name}</h1>`;
    else if (answer === 'login') ctx.redirect(await flow.login(ctx, interaction, ann!));
    else ctx.redirect(await flow[answer as 'consent' | 'deny'](ctx, interaction));
    return undefined;
  },
  async error(ctx, { error, status }) {
    ctx.status = status;
    ctx.body = `<h1>${error}</h1>`;
  },
});

test('an answer to another prompt than the one of the interaction is refused', async (t) => {
  await using platform = await startPlatform({ interactions: ownPages });
  const app = await platform.registerApp();
  const browser = new Browser();
  const answerAt = async (url: URL, answer: string) => browser.get(new URL(`${url.pathname}/${answer}`, url));
  const first = await browser.open(authorizeUrl(platform, app));
  const consent = await browser.open((await answerAt(first.url, 'login')).location!);
  t.is(consent.heading, 'consent for Reports');
  t.is((await answerAt(consent.url, 'login')).status, 400);
  // The same user is asked for a password, and has consented to nothing.
  const login = await browser.open(authorizeUrl(platform, app, { prompt: 'login' }));
  t.is(login.heading, 'login for Reports');
  for (const answer of ['consent', 'deny']) {
    const { heading, location, status } = await answerAt(login.url, answer);
    t.deepEqual([status, heading, location], [400, 'interaction_expired', undefined], answer);
  }
  const end = await answerAt(consent.url, 'deny');
  t.is(end.location?.searchParams.get('error'), 'access_denied');
});

test('own pages can pass which of the optional scopes the user grants', async (t) => {
  const answers: (readonly string[] | undefined)[] = [];
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
        const uid = /^\/oauth\/interaction\/([^/]+)/.exec(ctx.path)?.[1];
        if (uid === undefined) return next();
        const interaction = await flow.find(ctx, uid);
        const ann = await flow.authenticate(ctx, 'ann@school.example', 'correct horse');
        if (interaction.prompt === 'consent') shown.push(interaction.scopes);
        ctx.redirect(
          interaction.prompt === 'login'
            ? await flow.login(ctx, interaction, ann!)
            : await flow.consent(ctx, interaction, answers.shift()),
        );
        return undefined;
      },
    }),
  });
  const app = await platform.registerApp();
  const browser = new Browser();
  const scopeFor = async (scope: string, chosen: readonly string[] | undefined): Promise<string | number> => {
    answers.push(chosen);
    const page = await browser.open(authorizeUrl(platform, app, { scope }));
    if (!page.location) return `${page.status} ${page.heading}`;
    const { body } = await exchangeCode(platform, app, page.location.searchParams.get('code'));
    return body.scope ?? '';
  };
  const all = 'schools:read schools:write profile';
  t.is(await scopeFor(all, ['schools:read', 'unknown']), '422 invalid_request');
  t.is(await scopeFor('schools:write profile', []), '422 invalid_request');
  t.is(await scopeFor(all, ['profile', 'profile', 'schools:read']), 'schools:read profile');
  t.is(await scopeFor(all, undefined), all);
  const names = { aboutUser: false, optional: false, consented: true };
  t.deepEqual(shown.at(-1), [
    { ...names, name: 'schools:read', description: 'See your schools' },
    {
      ...names,
      name: 'schools:write',
      description: 'Change your schools',
      optional: true,
      consented: false,
    },
    { ...names, name: 'profile', description: 'See your name' },
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
        await flow.find(ctx, 'unknown');
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
