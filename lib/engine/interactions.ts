import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { Interaction as EngineInteraction, Provider, Session } from 'oidc-provider';

import { now } from '../clock.ts';
import type { AuditLog, Interaction, InteractionFlow, LoginThrottle, User } from '../contracts.ts';
import { InteractionExpiredError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options.ts';
import type { ClientDirectory } from './client-directory.ts';
import { rememberConsent } from './consent.ts';
import { ENDPOINTS } from './endpoints.ts';
import { beginLogin, checkUser, createLoginSessions } from './login-session.ts';
import { originOf } from './origin.ts';
import { hasHostLoginChanged, HOST_LOGIN } from './prompts.ts';
import { createProxyWarning } from './untrusted-proxy.ts';

// Nobody was logged in at the host when its login page was asked for, so whoever comes back has just logged in.
const SENT_TO_LOGIN = 'sent_to_login';

/** What the flow asks of the rest of the server. */
export interface InteractionParts extends Pick<InteractionFlow, 'connections' | 'developer'> {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clients: ClientDirectory;
  readonly logins: LoginThrottle;
  readonly provider: () => Provider;
}

/** What pages may ask of the engine; see the port for what each step does. */
export function createInteractionFlow(
  options: ResolvedOptions,
  { audit, clients, connections, developer, logins, provider }: InteractionParts,
): InteractionFlow {
  const { accountPath, basePath, currentUser, developerPath, issuer, logger, loginUrl } = options;
  const { origin, storage, users } = options;
  const sessions = createLoginSessions(options, { audit, provider });
  const warnOfProxy = createProxyWarning(logger);

  return {
    origin,
    basePath,
    developerPath,
    accountPath,
    developer,
    connections,
    ...sessions,
    async find(ctx, uid) {
      const open = await findOpen(ctx, uid);
      return describe(open);
    },
    async authenticate(ctx, login, password) {
      let user: User | undefined;
      try {
        user = await logins.attempt(login, ctx.ip, async () => users.authenticate(login, password));
      } catch (error) {
        if (error instanceof TooManyAttemptsError) {
          audit.record({ type: 'login_throttled' }, originOf(ctx));
          warnOfProxy(ctx);
        }
        throw error;
      }
      if (!user) {
        const clientId = (await findCurrent(ctx))?.params['client_id'] as string | undefined;
        audit.record({ type: 'login_failed', clientId }, originOf(ctx));
      }
      return user;
    },
    login: (ctx, { uid }, user) => finishLogin(ctx, uid, user),
    async consent(ctx, { uid }) {
      const open = await findOpen(ctx, uid, 'consent');
      // The page was open when the host's login changed. With nothing said yet, the engine asks whoever is there now.
      if (currentUser && hasHostLoginChanged(await currentUser(ctx), open.session!))
        return provider().interactionResult(ctx.req, ctx.res, {}, { mergeWithLastSubmission: false });
      const decision = decisionOn(open);
      await rememberConsent(storage.consents, { ...decision, at: now() });
      audit.record({ type: 'consent_given', ...decision }, originOf(ctx));
      return provider().interactionResult(ctx.req, ctx.res, { consent: {} });
    },
    async deny(ctx, { uid }) {
      const open = await findOpen(ctx, uid, 'consent');
      audit.record({ type: 'consent_denied', ...decisionOn(open) }, originOf(ctx));
      const result = { error: 'access_denied', error_description: 'the user denied the request' };
      return provider().interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
    },
    async switchUser(ctx, { uid }) {
      const open = await findOpen(ctx, uid, 'consent');
      await open.destroy();
      const { prompt = '', ...rest } = open.params as Record<string, string>;
      const prompts = new Set(['login', ...prompt.split(' ').filter(Boolean)]);
      const parameters = new URLSearchParams({ ...rest, prompt: [...prompts].join(' ') });
      return `${issuer}${ENDPOINTS.authorization}?${parameters.toString()}`;
    },
    async skipLogin(ctx, { uid }) {
      const open = await findOpen(ctx, uid, 'login');
      const user = await currentUser?.(ctx);
      const { reasons } = open.prompt;
      const mustLoginAgain = reasons.includes('login_prompt') || reasons.includes('max_age');
      const wasSentToLogin = open.lastSubmission?.[SENT_TO_LOGIN] === true;
      if (user) {
        if (mustLoginAgain && !wasSentToLogin) return undefined;
        if (await users.find(user.id)) return finishLogin(ctx, uid, user, [HOST_LOGIN]);
        // Going on, or to the host's login page, could go round in circles.
        logger.warn({ user_id: user.id }, 'currentUser gave a user whom users.find does not find');
        return undefined;
      }
      if (loginUrl === undefined) return undefined;
      open.lastSubmission = { ...open.lastSubmission, [SENT_TO_LOGIN]: true };
      await open.persist();
      return sessions.loginUrl(`${basePath}${ENDPOINTS.interaction}/${uid}`);
    },
  };

  /** The interaction of this browser, by its cookie; it must be the one that the URL names, and at the right step. */
  async function findOpen(
    ctx: Context,
    uid: string,
    prompt?: Interaction['prompt'],
  ): Promise<EngineInteraction> {
    const open = await findCurrent(ctx);
    if (open?.uid !== uid || (prompt !== undefined && open.prompt.name !== prompt))
      throw new InteractionExpiredError();
    return open;
  }

  /** Whichever interaction the browser names here. */
  async function findCurrent(ctx: Context): Promise<EngineInteraction | undefined> {
    try {
      return await provider().interactionDetails(ctx.req, ctx.res);
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
  }

  async function describe(open: EngineInteraction): Promise<Interaction> {
    const { params, prompt, session, uid } = open;
    const stored = await clients.find(params['client_id'] as string);
    if (!stored || stored.client.disabled) throw new InteractionExpiredError();
    return {
      uid,
      prompt: prompt.name as Interaction['prompt'],
      client: stored.client,
      user: session?.accountId === undefined ? undefined : await users.find(session.accountId),
      scopes: requestedScopes(open).flatMap((name) => {
        const scope = options.scopes.get(name);
        return scope ? [{ name, description: scope.description }] : [];
      }),
      redirectUri: params['redirect_uri'] as string,
      loginHint: params['login_hint'] as string | undefined,
      uiLocales: (params['ui_locales'] as string | undefined)?.split(' '),
      action: `${basePath}${ENDPOINTS.interaction}/${uid}`,
      canSwitchUser: currentUser === undefined,
    };
  }

  async function finishLogin(ctx: Context, uid: string, user: User, amr?: string[]): Promise<string> {
    checkUser(user);
    const open = await findOpen(ctx, uid, 'login');
    const session = await provider().Session.get(ctx);
    if (session.accountId !== undefined && session.accountId !== user.id)
      await changeUser(open, session, user);
    const login = { accountId: user.id, ...(amr ? { amr } : {}) };
    const result = { mergeWithLastSubmission: false };
    const next = await provider().interactionResult(ctx.req, ctx.res, { login }, result);
    const clientId = open.params['client_id'] as string;
    audit.record({ type: 'login', userId: user.id, clientId }, originOf(ctx));
    return next;
  }
}

// Left to itself the engine answers a change of user with a page that posts itself by an inline script. The session
// is given a new id when the engine resumes.
async function changeUser(open: EngineInteraction, session: Session, user: User): Promise<void> {
  if (open.session) {
    open.session.accountId = user.id;
    await open.persist();
  }
  beginLogin(session, user);
  await session.persist();
}

/** What somebody is asked to agree to. */
function decisionOn(open: EngineInteraction): { userId: string; clientId: string; scopes: string[] } {
  const clientId = open.params['client_id'] as string;
  return { userId: open.session!.accountId, clientId, scopes: requestedScopes(open) };
}

function requestedScopes(open: EngineInteraction): string[] {
  const scope = open.params['scope'];
  return typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [];
}
