import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';

import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { AuditLog, InteractionFlow, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { ENDPOINTS } from './endpoints.ts';
import { besidesHostLogin, hasHostLoginChanged } from './prompts.ts';
import { originOf } from './request-facts.ts';

/** Who is logged in on a browser, in the middle of an authorization or not. */
export interface LoginSessions extends Pick<
  InteractionFlow,
  'currentUser' | 'loginUrl' | 'pathHere' | 'logout'
> {
  /**
   * Call it before a password is checked: when everything of its user is ended meanwhile, the login that follows in the same
   * request is ended as well.
   */
  beforePassword(this: void, ctx: Context): Promise<void>;
  /**
   * Logs a user in: a session with a new id, and its cookie in this very answer. The session that the browser came with is removed.
   *
   * @param amr - how they authenticated (RFC 8176). Left out: nothing is said of it
   * @throws ConfigError when the user has no id that can be kept
   */
  begin(ctx: Context, user: User, amr?: readonly string[]): Promise<void>;
}

export function createLoginSessions(
  options: Pick<
    ResolvedOptions,
    | 'basePath'
    | 'currentUser'
    | 'lifetimes'
    | 'loginUrl'
    | 'origin'
    | 'secure'
    | 'signOut'
    | 'storage'
    | 'users'
  >,
  { audit, provider }: { audit: Pick<AuditLog, 'record'>; provider: () => Provider },
): LoginSessions {
  const { basePath, currentUser, lifetimes, loginUrl, origin, secure, signOut, storage, users } = options;
  const sequences = new WeakMap<Context, number>();

  /** Sets the cookie as the engine does; without a session, removes it. */
  function setCookie(ctx: Context, session?: { readonly id: string; readonly expiresAt: number }): void {
    const engine = provider();
    const { cookies } = engine.createContext(ctx.req, ctx.res);
    cookies.set(engine.cookieName('session'), session?.id ?? null, {
      httpOnly: true,
      sameSite: 'lax',
      secure,
      path: basePath || '/',
      ...(session ? { expires: new Date(session.expiresAt * 1000) } : {}),
    });
  }

  async function besidesHost(ctx: Context, user: User): Promise<readonly string[] | undefined> {
    const hostUser = await currentUser?.(ctx);
    return hostUser && hostUser.id !== user.id ? [besidesHostLogin(hostUser)] : undefined;
  }

  /** Removes the session that a browser came with. Resolves to what it said; `undefined` when nobody was logged in. */
  async function removeSession(ctx: Context): Promise<{ userId: string; uid: string } | undefined> {
    const { accountId: userId, jti, uid } = await provider().Session.get(ctx);
    if (userId === undefined) return undefined;
    await storage.sessions.delete(hashCredential(jti));
    return { userId, uid };
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
    async beforePassword(ctx) {
      sequences.set(ctx, await storage.revocations.sequence());
    },
    async begin(ctx, user, how) {
      checkUser(user);
      const amr = how ?? (await besidesHost(ctx, user));
      const sequence = sequences.get(ctx) ?? (await storage.revocations.sequence());
      const id = newId();
      const at = now();
      const login = { accountId: user.id, loginTs: at, ...(amr ? { amr } : {}) };
      const expiresAt = sessionEnd(login, lifetimes);
      const before = await removeSession(ctx);
      // Consent pages that are open in other tabs are still this person's.
      const uid = before?.userId === user.id ? before.uid : newId();
      await storage.sessions.insert({
        id: hashCredential(id),
        uid: hashCredential(uid),
        userId: user.id,
        payload: { kind: 'Session', uid, iat: at, exp: expiresAt, ...login },
        expiresAt,
        sequence,
      });
      setCookie(ctx, { id, expiresAt });
    },
    async logout(ctx) {
      // Before `signOut`, which may leave nothing that `currentUser` could read.
      const hostUser = await currentUser?.(ctx);
      const ended = await removeSession(ctx);
      setCookie(ctx);
      await signOut?.(ctx);
      const userId = ended?.userId ?? (signOut && hostUser?.id);
      if (userId !== undefined) audit.record({ type: 'logout', userId }, originOf(ctx));
      return { hostSessionContinues: hostUser !== undefined && !signOut };
    },
  };
}

function newId(): string {
  return randomBytes(32).toString('base64url');
}

/** In JavaScript a row's number comes along easily, and the engine's error names neither the user nor the option. */
function checkUser({ id }: User): void {
  if (typeof id === 'string' && id !== '') return;
  throw new ConfigError(
    'users',
    `give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(id)}`,
  );
}

// It goes into a header field, encoded once more, and proxies take no more than some kilobytes of header fields.
const LONGEST = 2000;

/**
 * The path that somebody is to be sent back to, if it leads nowhere but to this origin; `undefined` for anything else,
 * such as `//evil.example`, `/\evil.example` or `https://evil.example`, which browsers take for another server, and for one that is too long.
 */
export function pathHere(path: string, origin: string): string | undefined {
  const url = typeof path === 'string' && path.startsWith('/') ? URL.parse(path, origin) : null;
  // As a path of its own, the `//host` of `/.//host` would be another server.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return undefined;
  const back = url.pathname + url.search + url.hash;
  return back.length > LONGEST ? undefined : back;
}

/**
 * When a login session ends that is used now, in seconds since 1970: after the idle time, and never later than its absolute
 * end, which begins with the login.
 */
export function sessionEnd(
  { loginTs = now() }: { readonly loginTs?: number | undefined },
  { session, sessionAbsolute }: ResolvedOptions['lifetimes'],
): number {
  return Math.min(now() + session, loginTs + sessionAbsolute);
}
