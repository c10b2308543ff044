import { inspect } from 'node:util';

import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import type { Interaction as EngineInteraction, Provider, Session } from 'oidc-provider';

import type { Interaction, InteractionFlow, User } from '../contracts.ts';
import { ConfigError, InteractionExpiredError } from '../errors.ts';
import type { ResolvedOptions } from '../options.ts';
import type { ClientDirectory } from './client-directory.ts';
import { now } from './clock.ts';
import { rememberConsent } from './consent.ts';
import { ENDPOINTS } from './endpoints.ts';
import { hasHostLoginChanged, HOST_LOGIN } from './prompts.ts';

// Nobody was logged in at the host when its login page was asked for, so whoever comes back has just logged in.
const SENT_TO_LOGIN = 'sent_to_login';

/** What pages may ask of the engine; see the port for what each step does. */
export function createInteractionFlow(
  options: ResolvedOptions,
  { clients, provider }: { clients: ClientDirectory; provider: () => Provider },
): InteractionFlow {
  const { basePath, currentUser, issuer, logger, loginUrl, origin, storage, users } = options;

  return {
    origin,
    basePath,
    async find(ctx, uid) {
      const open = await findOpen(ctx, uid);
      return describe(open);
    },
    authenticate: (_ctx, login, password) => users.authenticate(login, password),
    login: (ctx, { uid }, user) => finishLogin(ctx, uid, user),
    async consent(ctx, { uid }) {
      const open = await findOpen(ctx, uid, 'consent');
      // The page was open when the host's login changed. With nothing said yet, the engine asks whoever is there now.
      if (currentUser && hasHostLoginChanged(await currentUser(ctx), open.session!))
        return provider().interactionResult(ctx.req, ctx.res, {}, { mergeWithLastSubmission: false });
      await rememberConsent(storage.consents, {
        userId: open.session!.accountId,
        clientId: open.params['client_id'] as string,
        scopes: requestedScopes(open),
        at: now(),
      });
      return provider().interactionResult(ctx.req, ctx.res, { consent: {} });
    },
    async deny(ctx, { uid }) {
      await findOpen(ctx, uid, 'consent');
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
      const url = new URL(loginUrl);
      url.searchParams.set('return_to', `${issuer}${ENDPOINTS.interaction}/${uid}`);
      return url.href;
    },
    async currentUser(ctx) {
      const hostUser = await currentUser?.(ctx);
      if (hostUser) return hostUser;
      const { accountId } = await provider().Session.get(ctx);
      return accountId === undefined ? undefined : users.find(accountId);
    },
    async logout(ctx) {
      const session = await provider().Session.get(ctx);
      await session.destroy();
      const { cookies } = provider().createContext(ctx.req, ctx.res);
      cookies.set(provider().cookieName('session'), null, {
        httpOnly: true,
        sameSite: 'lax',
        secure: options.secure,
        path: basePath || '/',
      });
    },
  };

  /** The interaction of this browser, by its cookie; it must be the one that the URL names, and at the right step. */
  async function findOpen(
    ctx: Context,
    uid: string,
    prompt?: Interaction['prompt'],
  ): Promise<EngineInteraction> {
    let open: EngineInteraction;
    try {
      open = await provider().interactionDetails(ctx.req, ctx.res);
    } catch (error) {
      if (error instanceof errors.SessionNotFound) throw new InteractionExpiredError({ cause: error });
      throw error;
    }
    if (open.uid !== uid || (prompt !== undefined && open.prompt.name !== prompt))
      throw new InteractionExpiredError();
    return open;
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
      action: `${basePath}${ENDPOINTS.interaction}/${uid}`,
      canSwitchUser: currentUser === undefined,
    };
  }

  async function finishLogin(ctx: Context, uid: string, user: User, amr?: string[]): Promise<string> {
    // In JavaScript a row's number comes along easily, and the engine's error names neither the user nor the option.
    if (typeof user.id !== 'string' || user.id === '') {
      throw new ConfigError(
        'users',
        `give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(user.id)}`,
      );
    }
    const open = await findOpen(ctx, uid, 'login');
    const session = await provider().Session.get(ctx);
    if (session.accountId !== undefined && session.accountId !== user.id)
      await changeUser(open, session, user);
    const login = { accountId: user.id, ...(amr ? { amr } : {}) };
    return provider().interactionResult(ctx.req, ctx.res, { login }, { mergeWithLastSubmission: false });
  }
}

// Left to itself the engine answers a change of user with a page that posts itself by an inline script. The session
// is given a new id when the engine resumes.
async function changeUser(open: EngineInteraction, session: Session, user: User): Promise<void> {
  if (open.session) {
    open.session.accountId = user.id;
    await open.persist();
  }
  session.authorizations = undefined;
  session.loginAccount({ accountId: user.id });
  await session.persist();
}

function requestedScopes(open: EngineInteraction): string[] {
  const scope = open.params['scope'];
  return typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [];
}
