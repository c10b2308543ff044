import { pagesOfFeatures } from './feature-pages.ts';
import type { Middleware } from 'koa';
import type { Interaction, InteractionFlow } from '../lib/contracts/index.ts';
import { InteractionExpiredError } from '../lib/errors.ts';
import { LOGO_ROUTE, serveLogo } from './about-app.ts';
import type { Assets } from './assets.ts';
import { addAuthorizedAppRoutes } from './authorized-apps.ts';
import { askForConsent, submitConsent } from './consent.ts';
import { askForLogin, askToSignIn, submitLogin, submitSignIn } from './login.ts';
import { askForLogout, submitLogout } from './logout.ts';
import { pathParameter, seeOther } from './navigation.ts';
import type { PageRequest, RequestFor, Step } from './page-request.ts';
import { PageRouter } from './page-router.ts';

/** A step of an open interaction. Shows a page, or resolves to the URL to redirect to. */
type InteractionStep = (request: PageRequest, interaction: Interaction) => Promise<string | undefined>;

/**
 * Routes below `/oauth/interaction`, `/oauth/login`, `/oauth/logout`, `/oauth/assets` and `/oauth/logos`, the pages of
 * features and the authorized apps; other requests fall through.
 */
export function pageRoutes(flow: InteractionFlow, requestFor: RequestFor, assets: Assets): Middleware {
  const follow =
    (prompt: Interaction['prompt'] | 'any', step: InteractionStep): Step =>
    async ({ ctx }) => {
      const interaction = await flow.find(ctx, pathParameter(ctx, 'uid'));
      // The form is of an earlier prompt: it was sent twice, or from an old tab.
      if (prompt !== 'any' && prompt !== interaction.prompt) throw new InteractionExpiredError();
      const next = await step(requestFor(ctx, interaction.uiLocales), interaction);
      if (next !== undefined) seeOther(ctx, next);
    };

  const page = '/oauth/interaction/:uid';
  const router = new PageRouter(requestFor);
  // First: a feature may have a page that does more than that of the core.
  for (const feature of pagesOfFeatures(flow)) feature.addRoutes(router, flow.basePath);
  router
    .page(page, follow('any', ask))
    .form(`${page}/login`, follow('login', submitLogin))
    .form(`${page}/consent`, follow('consent', submitConsent))
    .form(
      `${page}/deny`,
      follow('consent', async ({ ctx }, interaction) => flow.deny(ctx, interaction)),
    )
    .form(
      `${page}/switch`,
      follow('consent', async ({ ctx }, interaction) => flow.switchUser(ctx, interaction)),
    )
    // After a posted form, its URL is in the address bar; it may be opened again by a GET.
    .page(
      [`${page}/login`, `${page}/consent`, `${page}/deny`, `${page}/switch`],
      follow('any', async (_request, interaction) => interaction.action),
    )
    .page('/oauth/login', askToSignIn)
    .form('/oauth/login', submitSignIn)
    .page('/oauth/logout', askForLogout)
    .form('/oauth/logout', submitLogout)
    .file('/oauth/assets/:hash/:name', assets.serve)
    .file(LOGO_ROUTE, serveLogo(flow));
  const { accountPath } = flow;
  if (accountPath !== undefined) addAuthorizedAppRoutes(router, accountPath, flow);
  return router.routes();
}

const ask: InteractionStep = async (request, interaction) => {
  if (interaction.prompt === 'login') return askForLogin(request, interaction);
  askForConsent(request, interaction);
  return undefined;
};
