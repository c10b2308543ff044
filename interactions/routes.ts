import type { Middleware } from 'koa';
import type { InteractionFlow } from '../lib/contracts/index.ts';
import { LOGO_ROUTE, serveLogo } from './about-app.ts';
import type { Assets } from './assets.ts';
import { showAuthorizedApps } from './authorized-apps.ts';
import { showConsent } from './consent.ts';
import { pagesOfFeatures } from './feature-pages.ts';
import { showLogin, showLoginWithoutClient } from './login.ts';
import { showLogout } from './logout.ts';
import type { RequestFor } from './page-request.ts';
import { PageRouter } from './page-router.ts';
import { showSessions } from './sessions.ts';

/**
 * Routes below `/oauth/interaction`, `/oauth/login`, `/oauth/logout`, `/oauth/assets` and `/oauth/logos`, the pages of
 * features and the authorized apps; other requests fall through.
 */
export function pageRoutes(flow: InteractionFlow, requestFor: RequestFor, assets: Assets): Middleware {
  const { accountPath, sessionsPath } = flow.parts;
  const router = new PageRouter(requestFor);
  // First, so that a feature can have a page of its own at a path of the core.
  for (const feature of pagesOfFeatures(flow.parts)) feature.addRoutes?.(router);

  const page = '/oauth/interaction/:uid';
  const login = [`${page}/login`];
  const consent = [`${page}/consent`, `${page}/deny`, `${page}/switch`];
  // One of the two knows an interaction.
  const get = [page, ...login, ...consent];
  router
    .answered({ get, post: login }, flow.login, showLogin)
    .answered({ get, post: consent }, flow.consent, showConsent)
    .answered(at('/oauth/login'), flow.loginWithoutClient, showLoginWithoutClient)
    .answered(at('/oauth/logout'), flow.logout, showLogout)
    .file('/oauth/assets/:hash/:name', assets.serve)
    .file(LOGO_ROUTE, serveLogo(flow));
  if (accountPath !== undefined) {
    const ends = [`${accountPath}/:id/revoke`, `${accountPath}/:id/grants/:grant/revoke`];
    router.answered({ get: [accountPath, ...ends], post: ends }, flow.authorizedApps, showAuthorizedApps);
  }
  if (sessionsPath !== undefined) {
    const ends = [`${sessionsPath}/:id/end`, `${sessionsPath}/end-others`];
    router.answered({ get: [sessionsPath, ...ends], post: ends }, flow.sessions, showSessions);
  }
  return router.routes();
}

function at(path: string): { readonly get: string[]; readonly post: string[] } {
  return { get: [path], post: [path] };
}
