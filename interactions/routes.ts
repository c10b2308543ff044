import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import Router from 'koa-router';
import type { Interaction } from '../lib/contracts.ts';
import { InteractionExpiredError } from '../lib/errors.ts';
import { requireSameOrigin } from '../lib/http/same-origin.ts';
import { appRoutes } from './apps/routes.ts';
import type { Assets } from './assets.ts';
import { connectionRoutes } from './connections/routes.ts';
import { askForConsent } from './consent.ts';
import { answerRefusals } from './error.ts';
import { askForLogin, submitLogin } from './login.ts';
import { askForLogout, submitLogout } from './logout.ts';
import { seeOther } from './see-other.ts';
import { askToSignIn, submitSignIn } from './sign-in.ts';
import type { Site } from './site.ts';

/** One step of an open interaction. Resolves to where to go, or shows a page and resolves to nothing. */
type Step = (ctx: Context, interaction: Interaction) => Promise<string | undefined>;

/**
 * Routes what lies below `/oauth/interaction`, `/oauth/login`, `/oauth/logout` and `/oauth/assets`, the developer area and
 * the connected apps; the rest falls through.
 */
export function pageRoutes(site: Site, assets: Assets): Middleware {
  const { flow } = site;

  const view = [answerRefusals(site)];
  const form = [answerRefusals(site), refuseOtherSites(flow.origin)];

  const follow = (prompt: Interaction['prompt'] | 'any', step: Step) =>
    async function followStep(ctx: Context): Promise<void> {
      const { uid = '' } = ctx['params'] as Record<string, string>;
      const interaction = await flow.find(ctx, uid);
      // A form of an earlier prompt: sent twice, or from a tab that was left open.
      if (prompt !== 'any' && prompt !== interaction.prompt) throw new InteractionExpiredError();
      const next = await step(ctx, interaction);
      if (next !== undefined) seeOther(ctx, next);
    };

  const ask: Step = async (ctx, interaction) => {
    if (interaction.prompt === 'login') return askForLogin(ctx, interaction, site);
    askForConsent(ctx, interaction, site);
    return undefined;
  };
  const login: Step = async (ctx, interaction) => submitLogin(ctx, interaction, site);
  const consent: Step = async (ctx, interaction) => flow.consent(ctx, interaction);
  const deny: Step = async (ctx, interaction) => flow.deny(ctx, interaction);
  const switchUser: Step = async (ctx, interaction) => flow.switchUser(ctx, interaction);

  const page = '/oauth/interaction/:uid';
  const router = new Router()
    .get(page, ...view, follow('any', ask))
    .post(`${page}/login`, ...form, follow('login', login))
    .post(`${page}/consent`, ...form, follow('consent', consent))
    .post(`${page}/deny`, ...form, follow('consent', deny))
    .post(`${page}/switch`, ...form, follow('consent', switchUser))
    // What a posted form leaves in the address bar, opened again.
    .get(
      [`${page}/login`, `${page}/consent`, `${page}/deny`, `${page}/switch`],
      ...view,
      follow('any', askAgain),
    )
    .get('/oauth/login', ...view, async (ctx) => askToSignIn(ctx, site))
    .post('/oauth/login', ...form, async (ctx) => submitSignIn(ctx, site))
    .get('/oauth/logout', ...view, async (ctx) => askForLogout(ctx, site))
    .post('/oauth/logout', ...form, async (ctx) => submitLogout(ctx, site))
    .get('/oauth/assets/:hash/:name', assets.serve);
  const { accountPath, developerPath } = flow;
  return compose([
    // The router adds to the context itself what its type asks of it.
    router.routes() as Middleware,
    ...(developerPath === undefined ? [] : [appRoutes(site, developerPath, { view, form })]),
    ...(accountPath === undefined ? [] : [connectionRoutes(site, accountPath, { view, form })]),
  ]);
}

const askAgain: Step = async (_ctx, interaction) => interaction.action;

function refuseOtherSites(origin: string): Middleware {
  return async function refuseOtherSite(ctx, next) {
    requireSameOrigin(ctx, origin);
    await next();
  };
}
