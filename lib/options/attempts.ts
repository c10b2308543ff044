import { objectOrFalse, optional } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { duration, integer } from './values.ts';

// The limit of browsers for a cookie's lifetime (RFC 6265bis section 5.5).
const LONGEST_COOKIE_LIFETIME = 400 * 86_400;

const LOGIN = {
  /** Failed logins to one account from one address. @default 5 */
  perAccountAndAddress: optional(integer(1), 5),
  /** Failed logins to one account from all addresses together. @default 20, which is no more than 100 in any hour */
  perAccount: optional(integer(1), 20),
  /** Failed logins from one address to all accounts together. @default 100 */
  perAddress: optional(integer(1), 100),
  /**
   * Failed logins to one account from a browser in which it has logged in before, recognized by a cookie (OWASP: device cookies). The
   * other limits do not apply to this browser, so that failed logins elsewhere cannot lock the user out of it. @default 5
   */
  perDevice: optional(integer(1), 5),
  /** How long a browser is recognized after its last login, at most 400 days. @default '180 days' */
  deviceLifetime: optional(
    duration(1, LONGEST_COOKIE_LIFETIME, 'give at most 400 days: browsers store no cookie for longer'),
    '180 days',
  ),
  /** The length of the window, from the first failed login on. @default '15 minutes' */
  window: optional(duration(1), '15 minutes'),
};

const CLIENT_AUTHENTICATION = {
  /** Failures of one client from one address. @default 10 */
  perClientAndAddress: optional(integer(1), 10),
  /** Failures from one address, of all clients together. @default 100 */
  perAddress: optional(integer(1), 100),
  /** The length of the window, from the first failure on. @default '5 minutes' */
  window: optional(duration(1), '5 minutes'),
};

export const ATTEMPTS = {
  /** Limits of failed logins; `false` for no limits. Over a limit, users see the login page with 429 and `Retry-After`. */
  login: optional(objectOrFalse(LOGIN), {}),
  /**
   * Limits of failed authentications of clients at the token, revocation and introspection endpoints; `false` for no limits. Over a
   * limit, the response is 429 with `Retry-After`. A valid secret that this server has generated is accepted over a limit too: it cannot
   * be guessed, and failed requests of others must not lock the client out.
   */
  clientAuthentication: optional(objectOrFalse(CLIENT_AUTHENTICATION), {}),
};

/**
 * Limits of failed authentications of users and clients. Successful ones are not counted.
 *
 * An address is Koa's `ctx.ip`, for IPv6 its /64 network. Behind a proxy that the app does not trust (`trustProxy`, or
 * `app.proxy` and `app.maxIpsCount` of your own app) it is the proxy's address for all requests. A limit for an address also
 * applies to its larger networks: twice the number for an IPv6 /56, three times the number for a /48 or an IPv4 /24.
 */
export interface AttemptLimits extends Given<typeof ATTEMPTS> {}

/** The limits, or `false` for none. */
export const attempts: Check<AttemptLimits | false, Values<typeof ATTEMPTS> | undefined> =
  objectOrFalse(ATTEMPTS);
