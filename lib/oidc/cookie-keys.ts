import { timingSafeEqual } from 'node:crypto';

import Keygrip from 'keygrip';

import type { ResolvedOptions } from '../options/options.ts';

/**
 * Signs cookies as Keygrip does, with the first of the keys, and knows a signature by any of them.
 *
 * Keygrip compares two signatures by signing both once more with a random key, which Node takes longer for than for the rest of a
 * request's cookies. Node's own comparison takes constant time too.
 */
export function createCookieKeys(keys: readonly string[]): Pick<Keygrip, 'sign' | 'verify' | 'index'> {
  const signers = keys.map((key) => new Keygrip([key]));

  function index(data: string, signature: string): number {
    return signers.findIndex((signer) => isSame(signer.sign(data), signature));
  }

  return {
    sign: (data) => signers[0]!.sign(data),
    verify: (data, signature) => index(data, signature) !== -1,
    index,
  };
}

function isSame(expected: string, presented: string): boolean {
  const [first, second] = [Buffer.from(expected), Buffer.from(presented)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** What a cookie of the whole server is called besides its own name, and where it is sent. */
export interface CookiePlace {
  /** What browsers hold a cookie to (RFC 6265bis section 4.1.3). */
  readonly prefix: '' | '__Host-' | '__Secure-';
  /**
   * Cookies know neither ports nor where a path ends: a server that met the session of another one by its own name would
   * find the signature wrong, and delete it. So the name tells the path, and on a developer's machine the port.
   */
  readonly suffix: string;
  readonly path: string;
  readonly secure: boolean;
}

export function cookiePlace({
  basePath,
  issuer,
  secure,
}: Pick<ResolvedOptions, 'basePath' | 'issuer' | 'secure'>): CookiePlace {
  const port = secure ? '' : `_${new URL(issuer).port}`;
  return {
    prefix: secure ? (basePath === '' ? '__Host-' : '__Secure-') : '',
    suffix: `${port}${basePath}`.replaceAll(/[^\w.-]/g, '_'),
    path: basePath || '/',
    secure,
  };
}
