import { typeOfLogo } from '../clients/logo.ts';
import type { FlowParts } from '../contracts/bundled-pages.ts';
import type { ClientStore, InteractionFlow, Logger } from '../contracts/index.ts';
import { originOf } from '../http/request.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createAnswerPage, decoded } from './answer-page.ts';
import { createVerifyPassword } from './verify-password.ts';
import type { VerifyPasswordParts } from './verify-password.ts';
import { createAuthorizedAppsPage } from './authorized-apps-page.ts';
import type { AuthorizedAppsPageParts } from './authorized-apps-page.ts';
import { createConsentPage } from './consent-page.ts';
import { createInteractionSteps } from './interactions.ts';
import type { InteractionParts, InteractionSteps } from './interactions.ts';
import { createLoginPages } from './login-page.ts';
import type { LoginPageParts } from './login-page.ts';
import { createLogoutPage } from './logout-page.ts';
import type { LogoutPageParts } from './logout-page.ts';
import { createSessionsPage } from './sessions-page.ts';
import type { SessionsPageParts } from './sessions-page.ts';
import { createAnswerUserPage } from './user-page.ts';

/** The steps that pages take. */
export interface FlowSteps
  extends LoginPageParts, LogoutPageParts, AuthorizedAppsPageParts, SessionsPageParts {
  readonly steps: InteractionSteps;
  readonly sessions: LoginPageParts['sessions'] & LogoutPageParts['sessions'];
  readonly findLogo: ClientStore['findLogo'];
  readonly logger: Logger;
}

const LOGO = /^\/oauth\/logos\/([^/]+)\/([^/]+)\/?$/i;

/** Makes the flow that pages call with each request, of the steps that they take; `InteractionFlow` documents each page. */
export function createFlow(parts: FlowParts, made: FlowSteps): InteractionFlow {
  const { basePath, origin } = parts;
  const { logger, verifyPassword, sessions, steps } = made;
  const answerPage = createAnswerPage({ logger, origin });
  const answerUserPage = createAnswerUserPage({ basePath, logger, origin }, sessions);
  return {
    ...createLoginPages(parts, answerPage, made),
    consent: createConsentPage(answerPage, steps),
    logout: createLogoutPage(parts, answerPage, made),
    authorizedApps: createAuthorizedAppsPage(parts, answerUserPage, made),
    sessions: createSessionsPage(parts, answerUserPage, made),
    async logo(ctx) {
      const [, clientId, hash] = LOGO.exec(ctx.path) ?? [];
      const picture = clientId && hash && (await made.findLogo(decoded(clientId), hash));
      return picture ? { picture, type: typeOfLogo(picture) } : undefined;
    },
    currentUser: sessions.currentUser,
    loginUrl: sessions.loginUrl,
    verifyPassword,
    parts,
  };
}

/** The parts of a server that its flow is made of. */
export interface ServerFlowParts extends VerifyPasswordParts, InteractionParts {
  authorizedApps: AuthorizedAppsPageParts['authorizedApps'];
  userSessions: SessionsPageParts['userSessions'];
  readonly logoutRequest: LogoutPageParts['logoutRequest'];
}

/** Makes the flow of a server. */
export function createServerFlow(
  options: ResolvedOptions,
  parts: ServerFlowParts & { readonly flowParts: FlowParts },
): InteractionFlow {
  const { audit, authorizedApps, browserRequestOf, flowParts, logoutRequest, sessions, userSessions } = parts;
  return createFlow(flowParts, {
    steps: createInteractionSteps(options, parts),
    verifyPassword: createVerifyPassword(options, parts),
    checksPasswords: options.users.verifyPassword !== undefined,
    sessions,
    authorizedApps,
    userSessions,
    sessionIdOf: async (ctx) => (await sessions.find(browserRequestOf(ctx)))?.id,
    logoutRequest,
    logger: options.logger,
    findLogo: async (clientId, hash) => options.storage.clients.findLogo(clientId, hash),
    async logIn(ctx, user) {
      await sessions.begin(ctx, user);
      audit.record({ type: 'login', userId: user.id }, originOf(ctx));
    },
    async userToSignOut(ctx) {
      await sessions.findToEnd(browserRequestOf(ctx));
      return sessions.currentUser(ctx);
    },
  });
}
