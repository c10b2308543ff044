import { inspect } from 'node:util';

import type { Context } from 'koa';
import type { Provider, Session } from 'oidc-provider';

import type { AuditLog, InteractionFlow, User } from '../contracts.ts';
import { ConfigError } from '../errors.ts';
import type { ResolvedOptions } from '../options.ts';
import { ENDPOINTS } from './endpoints.ts';
import { originOf } from './origin.ts';
import { hasHostLoginChanged } from './prompts.ts';
import { pathHere } from './return-path.ts';

/** The steps of the flow that are about who is logged in on a browser, in the middle of an authorization or not. */
export type LoginSessions = Pick<
  InteractionFlow,
  'currentUser' | 'loginUrl' | 'pathHere' | 'signIn' | 'logout'
>;

export function createLoginSessions(
  options: Pick<
    ResolvedOptions,
    'basePath' | 'currentUser' | 'lifetimes' | 'loginUrl' | 'origin' | 'secure' | 'users'
  >,
  { audit, provider }: { audit: Pick<AuditLog, 'record'>; provider: () => Provider },
): LoginSessions {
  const { basePath, currentUser, lifetimes, loginUrl, origin, secure, users } = options;

  /** Sets the cookie as the engine does; without a session, removes it. */
  function setCookie(ctx: Context, session?: Session): void {
    const engine = provider();
    const { cookies } = engine.createContext(ctx.req, ctx.res);
    cookies.set(engine.cookieName('session'), session?.jti ?? null, {
      httpOnly: true,
      sameSite: 'lax',
      secure,
      path: basePath || '/',
      ...(session ? { expires: new Date(session.exp * 1000) } : {}),
    });
  }

  return {
    async currentUser(ctx) {
      const hostUser = await currentUser?.(ctx);
      if (hostUser) return hostUser;
      const session = await provider().Session.get(ctx);
      // Begun by a login at the host that is over.
      if (currentUser && hasHostLoginChanged(hostUser, session)) return undefined;
      return session.accountId === undefined ? undefined : users.find(session.accountId);
    },
    loginUrl(returnTo) {
      const path = pathHere(returnTo, origin);
      if (loginUrl === undefined) {
        const query = path === undefined ? '' : `?${new URLSearchParams({ return_to: path }).toString()}`;
        return basePath + ENDPOINTS.login + query;
      }
      const url = new URL(loginUrl);
      // The host's page may be on another origin.
      if (path !== undefined) url.searchParams.set('return_to', origin + path);
      return url.href;
    },
    pathHere: (path) => pathHere(path, origin),
    async signIn(ctx, user) {
      checkUser(user);
      const session = await provider().Session.get(ctx);
      beginLogin(session, user);
      // Whoever has planted the id that the browser came with, or read it, does not have the new one.
      session.resetIdentifier();
      await session.save(lifetimes.session);
      setCookie(ctx, session);
      audit.record({ type: 'login', userId: user.id }, originOf(ctx));
    },
    async logout(ctx) {
      const session = await provider().Session.get(ctx);
      const { accountId: userId } = session;
      await session.destroy();
      setCookie(ctx);
      if (userId !== undefined) audit.record({ type: 'logout', userId }, originOf(ctx));
    },
  };
}

/** Makes a session that of a user. What it knew of the apps of another one is forgotten. */
export function beginLogin(session: Session, user: User): void {
  if (session.accountId !== user.id) session.authorizations = undefined;
  session.loginAccount({ accountId: user.id });
}

/** In JavaScript a row's number comes along easily, and the engine's error names neither the user nor the option. */
export function checkUser({ id }: User): void {
  if (typeof id === 'string' && id !== '') return;
  throw new ConfigError(
    'users',
    `give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(id)}`,
  );
}
