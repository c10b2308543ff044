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
import type { ResolvedOptions } from '../options/options.ts';
import { cookiePlace } from './cookie-keys.ts';
import { originOf } from './request-facts.ts';

/** What is needed to look at a password. */
export interface AuthenticationParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly browsers: KnownBrowsers | undefined;
  readonly logins: LoginThrottle;
  readonly provider: () => Provider;
}

/** What a login is a part of. */
interface LoginSteps {
  beforePassword(this: void, ctx: Context): Promise<void>;
  /** Names the client that asks for the login, if one does. */
  clientIdOf(this: void, ctx: Context): Promise<string | undefined>;
}

/** Asks the user store, as often as people may guess, and makes the browser of who was right a known one. */
export function createAuthenticate(
  options: Pick<ResolvedOptions, 'basePath' | 'issuer' | 'logger' | 'secure' | 'users'>,
  { audit, beforePassword, browsers, clientIdOf, logins, provider }: AuthenticationParts & LoginSteps,
): InteractionFlow['authenticate'] {
  const { logger, users } = options;
  const { path, prefix, secure, suffix } = cookiePlace(options);
  const name = `${prefix}gatehouse_device${suffix}`;
  const warnOfProxy = createProxyWarning(logger);

  // The engine's cookies, whatever the host thinks of the connection. They need no second signature.
  const cookiesOf = ({ req, res }: Context): Context['cookies'] => provider().createContext(req, res).cookies;

  function remember(ctx: Context, kept: string, login: string): void {
    if (!browsers) return;
    const { cookie, expiresAt } = browsers.renew(kept, login);
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
    warnOfProxy.ofForgery(ctx);
    const kept = cookiesOf(ctx).get(name, { signed: false }) ?? '';
    const from = { address: ctx.ip, browser: browsers?.find(kept, login) };
    let user: User | undefined;
    try {
      user = await logins.attempt(login, from, async () => {
        await beforePassword(ctx);
        return users.authenticate(login, password);
      });
    } catch (error) {
      if (error instanceof TooManyAttemptsError) {
        audit.record({ type: 'login_throttled' }, originOf(ctx));
        warnOfProxy.ofSharing(ctx);
      }
      throw error;
    }
    if (user) remember(ctx, kept, login);
    else audit.record({ type: 'login_failed', clientId: await clientIdOf(ctx) }, originOf(ctx));
    return user;
  };
}

/** Says once, of either, that addresses may not be what they are taken for. An attacker can send the header too, so it only says so. */
export interface ProxyWarning {
  /** When somebody is refused for what came from their address: it may be that of a proxy, and then it is everybody's. */
  ofSharing(ctx: Context): void;
  /** When the app takes the first of several addresses for the caller's, which is what the caller wrote. */
  ofForgery(ctx: Context): void;
}

function createProxyWarning(logger: Logger): ProxyWarning {
  const said = new Set<string>();

  function warnOnce(ctx: Context, message: string): void {
    if (said.has(message)) return;
    said.add(message);
    logger.warn({ address: ctx.ip }, message);
  }

  return {
    ofSharing(ctx) {
      if (!ctx.app.proxy && ctx.get('X-Forwarded-For') !== '') warnOnce(ctx, SHARED);
    },
    ofForgery(ctx) {
      const { maxIpsCount, proxy, proxyIpHeader } = ctx.app;
      if (proxy && !maxIpsCount && ctx.get(proxyIpHeader).includes(',')) warnOnce(ctx, FORGED);
    },
  };
}

const SHARED =
  'logins from this address are throttled; if it is the address of your proxy, set trustProxy, or proxy and maxIpsCount of your own app';

const FORGED =
  'the first of several addresses in X-Forwarded-For, which the caller can forge, is used as the client address; set maxIpsCount of your app to the number of your proxies';
