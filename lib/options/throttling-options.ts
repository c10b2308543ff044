import type { Duration } from '../contracts/duration.ts';

/**
 * How often people and clients may guess. What is right does not count.
 *
 * An address is what Koa's `ctx.ip` tells, and of an IPv6 address the /64. Behind a proxy that the app does not trust
 * (`trustProxy`, or `app.proxy` and `app.maxIpsCount` of your own app) everybody has the proxy's. A limit for an address is
 * kept for its networks too: twice as many may fail from an IPv6 /56, three times as many from a /48 or an IPv4 /24.
 */
export interface Throttling {
  /** Failed logins; `false`: any number. Over a limit people see the login page with 429 and `Retry-After`. */
  readonly login?: LoginThrottling | false;
  /**
   * Failed authentications of clients at the token, revocation and introspection endpoints; `false`: any number. Over a
   * limit the answer is 429 with `Retry-After`. The right one of the secrets that were made here is taken still: nobody
   * can guess those, and nobody can lock a client out by failing in its name.
   */
  readonly clientAuthentication?: ClientThrottling | false;
}

/** How many logins may fail in a window. */
export interface LoginThrottling {
  /** For one account from one address. @default 5 */
  readonly perAccountAndAddress?: number;
  /** For one account from all addresses together. @default 20, which is no more than 100 in any hour */
  readonly perAccount?: number;
  /** From one address for all accounts together. @default 100 */
  readonly perAddress?: number;
  /**
   * For one account from a browser that it has signed in on before. It keeps a cookie that tells so (OWASP, device cookies),
   * and none of the other limits holds for it: strangers cannot spend its attempts. @default 5
   */
  readonly perDevice?: number;
  /** How long a browser is known after the last login on it, at most 400 days. @default '180 days' */
  readonly deviceLifetime?: Duration;
  /** How long attempts are counted, from the first of them on. @default '15 minutes' */
  readonly window?: Duration;
}

/** How many authentications of clients may fail in a window. */
export interface ClientThrottling {
  /** For one client from one address. @default 10 */
  readonly perClientAndAddress?: number;
  /** From one address for all clients together. @default 100 */
  readonly perAddress?: number;
  /** How long failures are counted, from the first of them on. @default '5 minutes' */
  readonly window?: Duration;
}

/** The limits, complete; windows in seconds. `undefined`: any number. */
export interface ResolvedThrottling {
  readonly login: Readonly<Record<keyof LoginThrottling, number>> | undefined;
  readonly clientAuthentication: Readonly<Record<keyof ClientThrottling, number>> | undefined;
}
