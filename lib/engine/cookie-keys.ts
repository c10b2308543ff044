import { timingSafeEqual } from 'node:crypto';

import Keygrip from 'keygrip';

import { derivedFromEach } from '../keys/secrets.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/**
 * Signs cookies as Keygrip does, with the first secret, and verifies with each of them.
 *
 * Keygrip compares two signatures by signing both with a random key, which takes longer than all other work on the cookies of a
 * request. `timingSafeEqual` takes constant time too.
 */
export function createCookieKeys(secrets: Secrets): Pick<Keygrip, 'sign' | 'verify' | 'index'> {
  const signers = derivedFromEach(secrets, (secret) => new Keygrip([secret]));

  function index(data: string, signature: string): number {
    return signers().findIndex((signer) => isSame(signer.sign(data), signature));
  }

  return {
    sign: (data) => signers()[0]!.sign(data),
    verify: (data, signature) => index(data, signature) !== -1,
    index,
  };
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
