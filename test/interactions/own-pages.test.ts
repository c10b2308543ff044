import test from 'ava';
import type { Interactions } from 'koa-gatehouse';
import { readForm } from '../../lib/http/body.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';

/** A host's own pages for login, consent and errors, in one function; other requests pass through. */
const ownPages: Interactions = (flow) => ({
  async middleware(ctx, next) {
    const [, uid, posted] = /^\/oauth\/interaction\/([^/]+)(\/go)?$/.exec(ctx.path) ?? [];
    if (uid === undefined) {
      await next();
      return;
    }
    const interaction = await flow.find(ctx, uid);
    const { action, client, prompt } = interaction;
    if (!posted) {
      const field = prompt === 'login' ? '<input type="password" name="password">' : '';
      ctx.body = `<h1>${prompt} for ${client.name}</h1><form method="post" action="${action}/go">${field}<button>Go</button></form>`;
      return;
    }
    if (prompt === 'consent') {
      ctx.redirect(await flow.consent(ctx, interaction));
      return;
    }
    const { password = '' } = await readForm(ctx);
    const user = await flow.authenticate(ctx, 'ann@school.example', password);
    ctx.redirect(user ? await flow.login(ctx, interaction, user) : action);
  },
  async error(ctx, { error, status }) {
    ctx.status = status;
    ctx.body = `<h1>${error}</h1>`;
  },
});

test('a host can replace all pages by one function', async (t) => {
  await using platform = await startPlatform({ interactions: ownPages });
  const app = await platform.registerApp();
  const browser = new Browser();
  let page = await browser.open(authorizeUrl(platform, app));
  t.is(page.heading, 'login for Reports');
  page = await browser.follow(await browser.submit(page, 'Go', { password: 'wrong' }));
  t.is(page.heading, 'login for Reports');
  page = await browser.follow(await browser.submit(page, 'Go', { password: 'correct horse' }));
  t.is(page.heading, 'consent for Reports');
  page = await browser.follow(await browser.submit(page, 'Go'));
  t.is(page.location?.origin, 'https://reports.example');
  t.truthy(page.location?.searchParams.get('code'));

  const refused = await browser.open(authorizeUrl(platform, app, { redirect_uri: 'https://evil.example/' }));
  t.deepEqual([refused.status, refused.heading], [400, 'invalid_redirect_uri']);
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
  t.deepEqual(platform.logger.lines, []);

  const failed = await browser.get(`${path.href}?fault`);
  t.deepEqual([failed.status, failed.heading], [500, 'server_error']);
  t.deepEqual(
    platform.logger.lines.map(({ level, message }) => `${level} ${message}`),
    ['error page failed'],
  );
});
