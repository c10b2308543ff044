import type { Context } from 'koa';

import { toDate } from '../contracts/duration.ts';
import type {
  AuditLog,
  InteractionFlow,
  KnownBrowsers,
  Limiter,
  Logger,
  LoginAttempt,
  User,
} from '../contracts/index.ts';
import { ConfigError, TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { cookieScope } from '../engine/cookie-keys.ts';
import { originOf } from '../http/request.ts';
import type { BrowserRequestOf } from './login-session.ts';

/** The parts of the server that check a password. */
export interface VerifyPasswordParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly browsers: KnownBrowsers | undefined;
  readonly logins: Limiter<LoginAttempt> | undefined;
}

/** Checks a password with the user store, within the login limits, and sets the device cookie of a browser that logs in. */
export function createVerifyPassword(
  options: ResolvedOptions,
  {
    audit,
    browsers,
    logins,
    browserRequestOf,
  }: VerifyPasswordParts & { readonly browserRequestOf: BrowserRequestOf },
): InteractionFlow['verifyPassword'] {
  const { logger, storage, users } = options;
  if (!users.verifyPassword) return refuseCall;
  const { path, prefix, secure, suffix } = cookieScope(options);
  const name = `${prefix}gatehouse_device${suffix}`;
  const proxyWarning = createProxyWarning(logger);

  return async function verifyPassword(ctx, login, password) {
    proxyWarning.forgedAddress(ctx);
    const page = browserRequestOf(ctx);
    // The cookie's entries have signatures of their own (see known-browsers.ts).
    const deviceCookie = page.cookies.get(name, { signed: false }) ?? '';
    const attempt = { login, address: ctx.ip, browser: browsers?.find(deviceCookie, login) };
    const check = async (sequence: number): Promise<User | undefined> => {
      // When the user is ended while the check runs, the session of this login is ended too.
      page.sequence = sequence;
      return users.verifyPassword!(login, password);
    };
    let user: User | undefined;
    try {
      user = await (logins
        ? logins.attempt(attempt, check)
        : check(await storage.revocations.latestSequence()));
    } catch (error) {
      if (error instanceof TooManyAttemptsError) {
        audit.record({ type: 'login_throttled' }, originOf(ctx));
        proxyWarning.sharedAddress(ctx);
      }
      throw error;
    }
    if (!user) {
      audit.record({ type: 'login_failed', clientId: page.interaction?.stored.client.id }, originOf(ctx));
    } else if (browsers) {
      const { cookie, expiresAt } = browsers.renew(deviceCookie, login);
      const expires = toDate(expiresAt);
      page.cookies.set(name, cookie, { ...ATTRIBUTES, secure, path, expires });
    }
    return user;
  };
}

async function refuseCall(): Promise<never> {
  throw new ConfigError('flow.verifyPassword()', 'add the method verifyPassword(login, password) to users');
}

/** Warns, once for each reason, that `ctx.ip` may be wrong. A warning only, because an attacker can send the header too. */
function createProxyWarning(logger: Logger) {
  const warned = new Set<string>();

  function warnOnce(ctx: Context, message: string): void {
    if (warned.has(message)) return;
    warned.add(message);
    logger.warn({ address: ctx.ip }, message);
  }

  return {
    /** A login was throttled by its address, which may be the address of a proxy that all users share. */
    sharedAddress(ctx: Context): void {
      if (!ctx.app.proxy && ctx.get('X-Forwarded-For') !== '') warnOnce(ctx, SHARED);
    },
    /** The app takes the first of several forwarded addresses, which the caller can choose. */
    forgedAddress(ctx: Context): void {
      const { maxIpsCount, proxy, proxyIpHeader } = ctx.app;
      if (proxy && !maxIpsCount && ctx.get(proxyIpHeader).includes(',')) warnOnce(ctx, FORGED);
    },
  };
}

const ATTRIBUTES = { httpOnly: true, sameSite: 'lax', signed: false } as const;

const SHARED =
  'logins from this address are throttled; if it is the address of your proxy, set trustProxy, or proxy and maxIpsCount of your own app';

const FORGED =
  'the first of several addresses in X-Forwarded-For, which the caller can forge, is used as the client address; set maxIpsCount of your app to the number of your proxies';
