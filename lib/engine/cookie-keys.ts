import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { hmacKeysFrom } from '../keys/secrets.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/** What Koa's cookies are signed and verified with. */
export interface CookieKeys {
  sign(this: void, data: string): string;
  verify(this: void, data: string, signature: string): boolean;
  /** Of the secret that has made the signature; -1: none has. */
  index(this: void, data: string, signature: string): number;
}

/** Signs cookies by HMAC-SHA256 with a key of the first secret, and verifies with that of each of them, in constant time. */
export function createCookieKeys(secrets: Secrets): CookieKeys {
  const keys = hmacKeysFrom(secrets, 'gatehouse cookies');
  const index = (data: string, signature: string): number =>
    keys().findIndex((key) => isSame(sign(data, key), signature));

  return {
    sign: (data) => sign(data, keys()[0]!),
    verify: (data, signature) => index(data, signature) !== -1,
    index,
  };
}

function sign(data: string, key: KeyObject): string {
  return createHmac('sha256', key).update(data).digest('base64url');
}

function isSame(expected: string, presented: string): boolean {
  const [first, second] = [Buffer.from(expected), Buffer.from(presented)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** The name prefix and suffix, and the attributes, of cookies for all paths of the server. */
export interface CookieScope {
  /** Browsers accept a cookie with such a prefix only with the attributes that belong to it (RFC 6265bis section 4.1.3). */
  readonly prefix: '' | '__Host-' | '__Secure-';
  /**
   * The issuer's path and, without TLS, its port. Cookies ignore ports and match path prefixes, so two servers on one host can
   * get each other's cookies; under the same name a server would find the signature wrong and delete the other's session
   * cookie.
   */
  readonly suffix: string;
  readonly path: string;
  readonly secure: boolean;
}

/** The name of the cookie of a login session. */
export function sessionCookie(options: ResolvedOptions): string {
  const { prefix, suffix } = cookieScope(options);
  return `${prefix}gatehouse_session${suffix}`;
}

export function cookieScope({ basePath, issuer, secure }: ResolvedOptions): CookieScope {
  const port = secure ? '' : `_${new URL(issuer).port}`;
  return {
    prefix: secure ? (basePath === '' ? '__Host-' : '__Secure-') : '',
    suffix: `${port}${basePath}`.replaceAll(/[^\w.-]/g, '_'),
    path: basePath || '/',
    secure,
  };
}
