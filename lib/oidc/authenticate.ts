import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import type {
  AuditLog,
  InteractionFlow,
  KnownBrowsers,
  Logger,
  LoginThrottle,
  User,
} from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { cookieScope } from './cookie-keys.ts';
import { originOf } from './request-facts.ts';

/** The parts of the server that check a password. */
export interface AuthenticationParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly browsers: KnownBrowsers | undefined;
  readonly logins: LoginThrottle;
  readonly provider: () => Provider;
}

/** The steps of the interaction that surround the password check. */
interface LoginSteps {
  beforePassword(this: void, ctx: Context): Promise<void>;
  /** The client whose authorization request the login belongs to; `undefined` when there is none. */
  clientIdOf(this: void, ctx: Context): Promise<string | undefined>;
}

/** Checks a password with the user store, within the login limits, and sets the device cookie of a browser that logs in. */
export function createAuthenticate(
  options: Pick<ResolvedOptions, 'basePath' | 'issuer' | 'logger' | 'secure' | 'users'>,
  { audit, beforePassword, browsers, clientIdOf, logins, provider }: AuthenticationParts & LoginSteps,
): InteractionFlow['authenticate'] {
  const { logger, users } = options;
  const { path, prefix, secure, suffix } = cookieScope(options);
  const name = `${prefix}gatehouse_device${suffix}`;
  const proxyWarning = createProxyWarning(logger);

  // The engine's context, because Koa refuses to set a `Secure` cookie when it takes the connection for plain HTTP, and the
  // engine's context follows the issuer's scheme (see provider.ts). The cookie's entries have signatures of their own (see
  // known-browsers.ts).
  const cookiesOf = ({ req, res }: Context): Context['cookies'] => provider().createContext(req, res).cookies;

  function renewDeviceCookie(ctx: Context, deviceCookie: string, login: string): void {
    if (!browsers) return;
    const { cookie, expiresAt } = browsers.renew(deviceCookie, login);
    const expires = new Date(expiresAt * 1000);
    cookiesOf(ctx).set(name, cookie, {
      httpOnly: true,
      sameSite: 'lax',
      signed: false,
      secure,
      path,
      expires,
    });
  }

  return async function authenticate(ctx, login, password) {
    proxyWarning.forgedAddress(ctx);
    const deviceCookie = cookiesOf(ctx).get(name, { signed: false }) ?? '';
    const from = { address: ctx.ip, browser: browsers?.find(deviceCookie, login) };
    let user: User | undefined;
    try {
      user = await logins.attempt(login, from, async () => {
        await beforePassword(ctx);
        return users.authenticate(login, password);
      });
    } catch (error) {
      if (error instanceof TooManyAttemptsError) {
        audit.record({ type: 'login_throttled' }, originOf(ctx));
        proxyWarning.sharedAddress(ctx);
      }
      throw error;
    }
    if (user) renewDeviceCookie(ctx, deviceCookie, login);
    else audit.record({ type: 'login_failed', clientId: await clientIdOf(ctx) }, originOf(ctx));
    return user;
  };
}

/** Warns, once for each reason, that `ctx.ip` may be wrong. A warning only, because an attacker can send the header too. */
export interface ProxyWarning {
  /** A login was throttled by its address, which may be the address of a proxy that all users share. */
  sharedAddress(ctx: Context): void;
  /** The app takes the first of several forwarded addresses, which the caller can choose. */
  forgedAddress(ctx: Context): void;
}

function createProxyWarning(logger: Logger): ProxyWarning {
  const warned = new Set<string>();

  function warnOnce(ctx: Context, message: string): void {
    if (warned.has(message)) return;
    warned.add(message);
    logger.warn({ address: ctx.ip }, message);
  }

  return {
    sharedAddress(ctx) {
      if (!ctx.app.proxy && ctx.get('X-Forwarded-For') !== '') warnOnce(ctx, SHARED);
    },
    forgedAddress(ctx) {
      const { maxIpsCount, proxy, proxyIpHeader } = ctx.app;
      if (proxy && !maxIpsCount && ctx.get(proxyIpHeader).includes(',')) warnOnce(ctx, FORGED);
    },
  };
}

const SHARED =
  'logins from this address are throttled; if it is the address of your proxy, set trustProxy, or proxy and maxIpsCount of your own app';

const FORGED =
  'the first of several addresses in X-Forwarded-For, which the caller can forge, is used as the client address; set maxIpsCount of your app to the number of your proxies';
