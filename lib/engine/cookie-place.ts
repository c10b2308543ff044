import type { ResolvedOptions } from '../options.ts';

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
