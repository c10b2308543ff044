import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';

import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { AuditLog, InteractionFlow, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { ENDPOINTS } from './endpoints.ts';
import { otherHostUserAmr, hasHostLoginChanged } from './prompts.ts';
import { originOf } from './request-facts.ts';

/** The login sessions of browsers: who is logged in, login and logout. */
export interface LoginSessions extends Pick<
  InteractionFlow,
  'currentUser' | 'loginUrl' | 'pathHere' | 'logout'
> {
  /**
   * Call it before a password is checked. When the user is ended while the check runs, the session of this login is ended too.
   */
  beforePassword(this: void, ctx: Context): Promise<void>;
  /**
   * Logs a user in: stores a session with a new id, sets its cookie on the response, and deletes the browser's previous
   * session.
   *
   * @param amr - the authentication methods (RFC 8176). By default none, except a mark of another user at the host
   * @throws ConfigError when the user's id is not a string, or empty
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

  /** Sets the session cookie with the attributes that the engine uses; without a session, deletes it. */
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

  async function amrBesideHost(ctx: Context, user: User): Promise<readonly string[] | undefined> {
    const hostUser = await currentUser?.(ctx);
    return hostUser && hostUser.id !== user.id ? [otherHostUserAmr(hostUser)] : undefined;
  }

  /** Deletes the browser's session. Resolves to its user and `uid`; `undefined` when no user was logged in. */
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
      // The session began with a login at the host, and the user has logged out there.
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
      // A full URL, because the host's login page may be on another origin.
      if (path !== undefined) url.searchParams.set('return_to', origin + path);
      return url.href;
    },
    pathHere: (path) => pathHere(path, origin),
    async beforePassword(ctx) {
      sequences.set(ctx, await storage.revocations.sequence());
    },
    async begin(ctx, user, givenAmr) {
      checkUser(user);
      const amr = givenAmr ?? (await amrBesideHost(ctx, user));
      const sequence = sequences.get(ctx) ?? (await storage.revocations.sequence());
      const id = newId();
      const at = now();
      const login = { accountId: user.id, loginTs: at, ...(amr ? { amr } : {}) };
      const expiresAt = sessionEnd(login, lifetimes);
      const previous = await removeSession(ctx);
      // A consent page is bound to the `uid`: pages of the same user in other tabs stay valid.
      const uid = previous?.userId === user.id ? previous.uid : newId();
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

/** A user store may pass on the number of a row, and the engine's error for that names neither the user nor the option. */
function checkUser({ id }: User): void {
  if (typeof id === 'string' && id !== '') return;
  throw new ConfigError(
    'users',
    `give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(id)}`,
  );
}

// The path is percent-encoded into a `Location` field, and proxies accept only some kilobytes of header fields.
const MAX_PATH_LENGTH = 2000;

/**
 * Normalizes a path to redirect to, such as a `return_to` parameter. `undefined` when it is too long, or when a browser would
 * resolve it to another origin, as `//evil.example`, `/\evil.example` and `https://evil.example`.
 */
export function pathHere(path: string, origin: string): string | undefined {
  const url = typeof path === 'string' && path.startsWith('/') ? URL.parse(path, origin) : null;
  // `/.//host` is normalized to `//host`, which a browser resolves to another server.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return undefined;
  const back = url.pathname + url.search + url.hash;
  return back.length > MAX_PATH_LENGTH ? undefined : back;
}

/**
 * The end, in seconds since 1970, of a login session that is used now: after the idle time, at most at the absolute end, which
 * counts from the login.
 */
export function sessionEnd(
  { loginTs = now() }: { readonly loginTs?: number | undefined },
  { session, sessionAbsolute }: ResolvedOptions['lifetimes'],
): number {
  return Math.min(now() + session, loginTs + sessionAbsolute);
}
