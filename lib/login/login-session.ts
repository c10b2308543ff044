import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';

import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import type { BrowserRequest, LoginSession } from '../contracts/browser-request.ts';
import { toDate } from '../contracts/duration.ts';
import type { Seconds } from '../contracts/duration.ts';
import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import type { AuditLog, InteractionFlow, User } from '../contracts/index.ts';
import { ConfigError, GatehouseError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import type { Authentication } from '../options/options.ts';
import { requireUserId } from '../options/ports.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { EndMissingUser } from '../token/revoke.ts';
import { PATHS } from '../engine/endpoints.ts';
import { originOf, requestOf, senderOf } from '../http/request.ts';
import { findSession, sessionEnd, toLoginSession } from './session-model.ts';

export type BrowserRequestOf = (this: void, ctx: Context) => BrowserRequest;

/** @param provider - that of one server, which has sessions of its own */
export function createBrowserRequestOf(provider: () => Provider): BrowserRequestOf {
  return function browserRequestOf(ctx) {
    const request = requestOf(ctx);
    if (request.browser?.server !== provider)
      request.browser = { server: provider, cookies: provider().createContext(ctx.req, ctx.res).cookies };
    return request.browser;
  };
}

/** The login sessions of browsers: who is logged in, login and logout. */
export interface LoginSessions extends Pick<InteractionFlow, 'currentUser' | 'loginUrl'> {
  /**
   * The path of a requested redirect, such as of `?return_to=`, normalized; `undefined` when it leads to another server, or is longer than
   * 8,000 characters.
   */
  pathHere(this: void, path: string): string | undefined;
  /**
   * Ends the login session: deletes it from the storage and its cookie from the browser, and calls the host's `login.logout`. Resolves to
   * whether the host's own session continues, because there is no `login.logout`.
   */
  logout(this: void, ctx: Context): Promise<{ readonly hostSessionContinues: boolean }>;
  /** The login session of the browser as its cookie names it. `undefined`: no user is logged in. */
  find(this: void, page: BrowserRequest): Promise<LoginSession | undefined>;
  /** The same for a logout, whose answer says that nobody is logged in. */
  findToEnd(this: void, page: BrowserRequest): Promise<LoginSession | undefined>;
  /**
   * The login of the browser, at the host or here, for requests to the API, from a new read of the session: a request may ask again.
   * `undefined`: nobody is logged in. `user`: as the user store has it now; `undefined` when it does not find the user.
   */
  findUser(this: void, ctx: Context): Promise<{ readonly user: User | undefined } | undefined>;
  /**
   * When the user of a browser has given the password, here or, by `login.authenticatedAt`, at the host, from a new read of the
   * session. `undefined`: not known, or it is another user's browser.
   */
  authenticatedAt(this: void, ctx: Context, user: User): Promise<Seconds | undefined>;
  /**
   * The login of the browser at the host. `undefined`: no user is logged in there.
   *
   * @throws ConfigError when the option `login.authenticatedAt` returned something wrong
   */
  hostLogin(this: void, ctx: Context): Promise<HostLogin | undefined>;
  /**
   * Logs a user in: stores a session with a new id, sets its cookie on the response, and deletes the browser's previous
   * session.
   *
   * @param hostLogin - with which the session begins. By default the user has logged in here
   * @returns the `uid` of the session
   * @throws ConfigError when the user's id is not a string, or empty, or the option `login.authenticationContext` returned something wrong
   */
  begin(ctx: Context, user: User, hostLogin?: HostLogin): Promise<string>;
}

/** A user's login at the host. */
export interface HostLogin {
  readonly user: User;
  /** When the user has given the password. `undefined`: not known, so that no `max_age` is met by it. */
  readonly authenticatedAt: Seconds | undefined;
}

export function createLoginSessions(
  options: ResolvedOptions,
  {
    audit,
    endMissingUser,
    browserRequestOf,
    provider,
  }: {
    readonly audit: Pick<AuditLog, 'record'>;
    readonly endMissingUser: EndMissingUser;
    readonly browserRequestOf: BrowserRequestOf;
    readonly provider: () => Provider;
  },
): LoginSessions {
  const { basePath, origin, secure, storage, users } = options;
  const { authenticationContext, currentUser, logout, url: loginUrl } = options.login;
  const { lifetimes } = options.tokens;
  const cookieOf = ({ cookies }: BrowserRequest): string | undefined =>
    cookies.get(provider().cookieName('session'));

  async function read(page: BrowserRequest): Promise<LoginSession | undefined> {
    const cookie = cookieOf(page);
    const found = cookie === undefined ? undefined : await findSession(storage.sessions, cookie);
    return found && toLoginSession(found);
  }

  function find(page: BrowserRequest): Promise<LoginSession | undefined> {
    return (page.session ??= read(page));
  }

  async function findToEnd(page: BrowserRequest): Promise<LoginSession | undefined> {
    return cookieOf(page) === undefined ? undefined : confirmAbsence(storage, find(page));
  }

  /** Sets the session cookie with the attributes that the engine uses; without a session, deletes it. */
  function setCookie(
    { cookies }: BrowserRequest,
    session?: { readonly id: string; readonly expiresAt: Seconds },
  ): void {
    cookies.set(provider().cookieName('session'), session?.id ?? null, {
      httpOnly: true,
      sameSite: 'lax',
      secure,
      path: basePath || '/',
      ...(session ? { expires: toDate(session.expiresAt) } : {}),
    });
  }

  async function hostLogin(ctx: Context): Promise<HostLogin | undefined> {
    const user = await currentUser?.(ctx);
    if (!user) return undefined;
    return { user, authenticatedAt: checkAuthenticatedAt(await options.login.authenticatedAt?.(ctx)) };
  }

  async function amrBesideHost(ctx: Context, user: User): Promise<readonly string[] | undefined> {
    const hostUser = await currentUser?.(ctx);
    return hostUser && hostUser.id !== user.id ? [otherHostUserAmr(hostUser)] : undefined;
  }

  /**
   * Deletes the browser's session. Resolves to what it was; `undefined` when no user was logged in.
   *
   * @param next - the user who logs in: the same one stays signed in at the clients
   */
  async function removeSession(page: BrowserRequest, next?: User): Promise<LoginSession | undefined> {
    const session = await find(page);
    page.session = undefined;
    if (!session) return undefined;
    if (session.accountId === next?.id) await storage.sessions.delete(session.id);
    else await storage.sessions.end(session.id);
    return session;
  }

  /** The user of the session here, where the host names none. */
  async function findOwnUser(
    ctx: Context,
    findIn: (page: BrowserRequest) => Promise<LoginSession | undefined>,
  ): Promise<{ readonly user: User | undefined } | undefined> {
    const session = await findIn(browserRequestOf(ctx));
    if (!session) return undefined;
    // The session began with a login at the host, and the user has logged out there.
    if (currentUser && hasHostLoginChanged(undefined, session)) return undefined;
    const user = await users.find(session.accountId);
    if (!user) await endMissingUser(session.accountId);
    return { user };
  }

  return {
    find,
    findToEnd,
    async findUser(ctx) {
      const hostUser = await currentUser?.(ctx);
      // The host's session may have outlived its user, which the pages leave to the host.
      return hostUser ? { user: await users.find(hostUser.id) } : findOwnUser(ctx, read);
    },
    async currentUser(ctx) {
      return (await currentUser?.(ctx)) ?? (await findOwnUser(ctx, find))?.user;
    },
    async authenticatedAt(ctx, user) {
      const atHost = await hostLogin(ctx);
      if (atHost && atHost.user.id !== user.id) return undefined;
      const own = await read(browserRequestOf(ctx));
      // Of a login at the host, the host says now when it was.
      const isOwn = own?.accountId === user.id && own.amr?.includes(HOST_LOGIN) !== true;
      const times = [isOwn ? own.loginTs : undefined, atHost?.authenticatedAt];
      const known = times.filter((at) => at !== undefined);
      return known.length === 0 ? undefined : Math.max(...known);
    },
    loginUrl(returnTo, { prompt } = {}) {
      const path = pathHere(returnTo, origin);
      const url = new URL(loginUrl ?? origin + basePath + PATHS.login);
      // A full URL, because the host's login page may be on another origin.
      if (path !== undefined)
        url.searchParams.set('return_to', loginUrl === undefined ? path : origin + path);
      if (prompt !== undefined) url.searchParams.set('prompt', prompt);
      if (url.href.length > MAX_URL_LENGTH)
        throw new GatehouseError(
          'ERR_URL_TOO_LONG',
          'The address of this page is too long to return to it after the sign-in.',
        );
      return loginUrl === undefined ? url.pathname + url.search : url.href;
    },
    pathHere(path) {
      const back = pathHere(path, origin);
      return back !== undefined && back.length > MAX_URL_LENGTH ? undefined : back;
    },
    hostLogin,
    async begin(ctx, user, atHost) {
      requireUserId('users', user);
      const page = browserRequestOf(ctx);
      const marks = atHost ? [HOST_LOGIN] : ((currentUser && (await amrBesideHost(ctx, user))) ?? []);
      const { acr, amr: methods = [] } = checkAuthentication(await authenticationContext?.(ctx, user));
      const amr = [...marks, ...methods];
      const sequence = page.sequence ?? (await storage.revocations.latestSequence());
      const id = newId();
      const at = now();
      const loginTs = atHost ? atHost.authenticatedAt : at;
      const login = {
        accountId: user.id,
        iat: at,
        ...(loginTs !== undefined && { loginTs }),
        ...(acr !== undefined && { acr }),
        ...(amr.length > 0 && { amr }),
      };
      const expiresAt = sessionEnd(login, lifetimes);
      const previous = await removeSession(page, user);
      // A consent page is bound to the `uid`: pages of the same user in other tabs stay valid.
      const uid = previous?.accountId === user.id ? previous.uid : newId();
      await storage.sessions.insert({
        id: hashCredential(id),
        uid: hashCredential(uid),
        userId: user.id,
        payload: { kind: 'Session', uid, exp: expiresAt, ...login },
        expiresAt,
        sequence,
        origin: senderOf(ctx),
        lastUsedAt: at,
      });
      setCookie(page, { id, expiresAt });
      return uid;
    },
    async logout(ctx) {
      // Before `login.logout`, which may leave nothing that `login.currentUser` could read.
      const hostUser = await currentUser?.(ctx);
      const page = browserRequestOf(ctx);
      await findToEnd(page);
      const ended = await removeSession(page);
      setCookie(page);
      await logout?.(ctx);
      const userId = ended?.accountId ?? (logout && hostUser?.id);
      if (userId !== undefined) audit.record({ type: 'logout', userId }, originOf(ctx));
      return { hostSessionContinues: hostUser !== undefined && !logout };
    },
  };
}

function newId(): string {
  return randomBytes(32).toString('base64url');
}

// How far the host's clock may be ahead.
const CLOCK_MARGIN: Seconds = 60;

/** @throws ConfigError, also for milliseconds, by which every login would be new */
function checkAuthenticatedAt(at: Seconds | undefined): Seconds | undefined {
  if (at === undefined) return undefined;
  if (Number.isFinite(at) && at <= now() + CLOCK_MARGIN) return Math.floor(at);
  throw new ConfigError(
    'login.authenticatedAt',
    `return seconds since 1970 that are not in the future, such as Math.floor(date.getTime() / 1000), or undefined; this is ${inspect(at)}`,
  );
}

/** @throws ConfigError */
function checkAuthentication(said: Authentication = {}): Authentication {
  const { acr, amr = [] } = said;
  const isRight =
    (acr === undefined || typeof acr === 'string') &&
    Array.isArray(amr) &&
    amr.every((method) => typeof method === 'string' && !isHostMark(method));
  if (isRight) return said;
  throw new ConfigError(
    'login.authenticationContext',
    "return { acr, amr }: a string, and a list of strings such as ['pwd', 'otp'], none of which is 'host'",
  );
}

// What nginx and Apache accept as a request line, and longer than any authorization request that this server has accepted.
const MAX_URL_LENGTH = 8000;

/**
 * Normalizes a path to redirect to, such as a `return_to` parameter. `undefined` when a browser would resolve it to another origin, as
 * `//evil.example`, `/\evil.example` and `https://evil.example`.
 */
function pathHere(path: string, origin: string): string | undefined {
  const url = typeof path === 'string' && path.startsWith('/') ? URL.parse(path, origin) : null;
  // `/.//host` is normalized to `//host`, which a browser resolves to another server.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search + url.hash;
}

/** The `amr` value of a session that the host's own login began; RFC 8176 registers none for that. */
const HOST_LOGIN = 'host';

/** The `amr` value of a session that began with a login here while the host named another user, such as one unknown here. */
function otherHostUserAmr(hostUser: User): string {
  return `${HOST_LOGIN}:${hostUser.id}`;
}

/** Whether a login session does not, or no longer, match the user whom the host names. */
export function hasHostLoginChanged(
  hostUser: User | undefined,
  { accountId, amr = [] }: { readonly accountId?: string | undefined; readonly amr?: string[] | undefined },
): boolean {
  return hostUser
    ? hostUser.id !== accountId && !amr.includes(otherHostUserAmr(hostUser))
    : amr.includes(HOST_LOGIN);
}

function isHostMark(method: string): boolean {
  return method === HOST_LOGIN || method.startsWith(`${HOST_LOGIN}:`);
}

/** The authentication methods of a login session (RFC 8176), without the marks of this server. */
export function authenticationMethods(amr: readonly string[] = []): readonly string[] {
  return amr.filter((method) => !isHostMark(method));
}
