import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import Router from 'koa-router';
import type { Interaction, InteractionFlow } from '../lib/contracts/index.ts';
import { InteractionExpiredError } from '../lib/errors.ts';
import { requireSameOrigin } from '../lib/http/headers.ts';
import { appRoutes } from './apps/routes.ts';
import type { Assets } from './assets.ts';
import { authorizedAppRoutes } from './authorized-apps.ts';
import { askForConsent, submitConsent } from './consent.ts';
import { answerErrors } from './error.ts';
import { deviceRoutes } from './device.ts';
import { askForLogin, askToSignIn, submitLogin, submitSignIn } from './login.ts';
import { askForLogout, submitLogout } from './logout.ts';
import { pathParameter, seeOther } from './navigation.ts';
import type { PageContext, PageContextFor } from './page-context.ts';

/** A route handler of an open interaction. Shows a page, or resolves to the URL to redirect to. */
type Step = (ctx: Context, interaction: Interaction, pageContext: PageContext) => Promise<string | undefined>;

/**
 * Routes below `/oauth/interaction`, `/oauth/login`, `/oauth/logout` and `/oauth/assets`, the page for the codes of devices, the
 * developer area and the authorized apps; other requests fall through.
 */
export function pageRoutes(
  flow: InteractionFlow,
  pageContextFor: PageContextFor,
  assets: Assets,
): Middleware {
  const view = [answerErrors(pageContextFor)];
  const form = [...view, refuseOtherSites(flow.origin)];

  const follow = (prompt: Interaction['prompt'] | 'any', step: Step) =>
    async function followStep(ctx: Context): Promise<void> {
      const interaction = await flow.find(ctx, pathParameter(ctx, 'uid'));
      // The form is of an earlier prompt: it was sent twice, or from an old tab.
      if (prompt !== 'any' && prompt !== interaction.prompt) throw new InteractionExpiredError();
      const next = await step(ctx, interaction, pageContextFor(ctx, interaction.uiLocales));
      if (next !== undefined) seeOther(ctx, next);
    };

  const deny: Step = async (ctx, interaction) => flow.deny(ctx, interaction);
  const switchUser: Step = async (ctx, interaction) => flow.switchUser(ctx, interaction);

  const page = '/oauth/interaction/:uid';
  const router = new Router()
    .get(page, ...view, follow('any', ask))
    .post(`${page}/login`, ...form, follow('login', submitLogin))
    .post(`${page}/consent`, ...form, follow('consent', submitConsent))
    .post(`${page}/deny`, ...form, follow('consent', deny))
    .post(`${page}/switch`, ...form, follow('consent', switchUser))
    // After a posted form, its URL is in the address bar; it may be opened again by a GET.
    .get(
      [`${page}/login`, `${page}/consent`, `${page}/deny`, `${page}/switch`],
      ...view,
      follow('any', askAgain),
    )
    .get('/oauth/login', ...view, async (ctx) => askToSignIn(ctx, pageContextFor(ctx)))
    .post('/oauth/login', ...form, async (ctx) => submitSignIn(ctx, pageContextFor(ctx)))
    .get('/oauth/logout', ...view, async (ctx) => askForLogout(ctx, pageContextFor(ctx)))
    .post('/oauth/logout', ...form, async (ctx) => submitLogout(ctx, pageContextFor(ctx)))
    .get('/oauth/assets/:hash/:name', assets.serve);
  const { accountPath, developerPath, devices } = flow;
  return compose([
    // The router's type requires a context with members that the router adds itself.
    router.routes() as Middleware,
    ...(devices === undefined ? [] : [deviceRoutes(flow, pageContextFor, devices, { view, form })]),
    ...(developerPath === undefined ? [] : [appRoutes(flow, pageContextFor, developerPath, { view, form })]),
    ...(accountPath === undefined
      ? []
      : [authorizedAppRoutes(flow, pageContextFor, accountPath, { view, form })]),
  ]);
}

const ask: Step = async (ctx, interaction, pageContext) => {
  if (interaction.prompt === 'login') return askForLogin(ctx, interaction, pageContext);
  askForConsent(ctx, interaction, pageContext);
  return undefined;
};

const askAgain: Step = async (_ctx, interaction) => interaction.action;

function refuseOtherSites(origin: string): Middleware {
  return async function refuseOtherSite(ctx, next) {
    requireSameOrigin(ctx, origin);
    await next();
  };
}
