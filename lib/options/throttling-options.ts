import type { Duration } from '../contracts/duration.ts';

/**
 * Limits of failed authentications of users and clients, of wrong user codes, and of device authorization requests. Of the first
 * three, successful ones are not counted.
 *
 * An address is Koa's `ctx.ip`, for IPv6 its /64 network. Behind a proxy that the app does not trust (`trustProxy`, or
 * `app.proxy` and `app.maxIpsCount` of your own app) it is the proxy's address for all requests. A limit for an address also
 * applies to its larger networks: twice the number for an IPv6 /56, three times the number for a /48 or an IPv4 /24.
 */
export interface Throttling {
  /** Limits of failed logins; `false`: none. Over a limit, users see the login page with 429 and `Retry-After`. */
  readonly login?: LoginThrottling | false;
  /**
   * Limits of failed authentications of clients at the token, revocation and introspection endpoints; `false`: none. Over a
   * limit, the response is 429 with `Retry-After`. A valid secret that this server has generated is accepted over a limit too:
   * it cannot be guessed, and failed requests of others must not lock the client out.
   */
  readonly clientAuthentication?: ClientThrottling | false;
  /**
   * Limits of wrong user codes at `/oauth/device` (RFC 8628 section 5.1); `false`: none. Over a limit, users see the page with 429
   * and `Retry-After`.
   */
  readonly userCodes?: UserCodeThrottling | false;
  /**
   * Limits of device authorization requests, each of which stores a row for as long as its code lives; `false`: none. Over a limit,
   * the response is 429 with `Retry-After`.
   */
  readonly deviceRequests?: DeviceRequestThrottling | false;
}

/** Limits of failed logins in a window. */
export interface LoginThrottling {
  /** For one account from one address. @default 5 */
  readonly perAccountAndAddress?: number;
  /** For one account from all addresses together. @default 20, which is no more than 100 in any hour */
  readonly perAccount?: number;
  /** From one address for all accounts together. @default 100 */
  readonly perAddress?: number;
  /**
   * For one account from a browser in which it has logged in before, recognized by a cookie (OWASP: device cookies). The other
   * limits do not apply to this browser, so that failed logins elsewhere cannot lock the user out of it. @default 5
   */
  readonly perDevice?: number;
  /** How long a browser is recognized after its last login, at most 400 days. @default '180 days' */
  readonly deviceLifetime?: Duration;
  /** The length of the window, from the first failed login on. @default '15 minutes' */
  readonly window?: Duration;
}

/** Limits of failed authentications of clients in a window. */
export interface ClientThrottling {
  /** For one client from one address. @default 10 */
  readonly perClientAndAddress?: number;
  /** From one address for all clients together. @default 100 */
  readonly perAddress?: number;
  /** The length of the window, from the first failure on. @default '5 minutes' */
  readonly window?: Duration;
}

/** Limits of wrong user codes in a window. */
export interface UserCodeThrottling {
  /** Entered by one user. @default 5 */
  readonly perUser?: number;
  /** From one address by all users together. @default 50 */
  readonly perAddress?: number;
  /** The length of the window, from the first wrong code on. @default '15 minutes' */
  readonly window?: Duration;
}

/** Limits of device authorization requests in a window. */
export interface DeviceRequestThrottling {
  /** From one address for all public clients together. A confidential client has made itself known. @default 50 */
  readonly perAddress?: number;
  /** For one client from all addresses together. @default 10000 */
  readonly perClient?: number;
  /** The length of the window, from the first request on. @default '10 minutes' */
  readonly window?: Duration;
}

/** The limits with their defaults filled in; windows in seconds. `undefined`: no limits. */
export interface ResolvedThrottling {
  readonly login: Readonly<Record<keyof LoginThrottling, number>> | undefined;
  readonly clientAuthentication: Readonly<Record<keyof ClientThrottling, number>> | undefined;
  readonly userCodes: Readonly<Record<keyof UserCodeThrottling, number>> | undefined;
  readonly deviceRequests: Readonly<Record<keyof DeviceRequestThrottling, number>> | undefined;
}
