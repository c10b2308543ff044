import { createHmac } from 'node:crypto';

/** The signature of a cookie `name=value` by a secret of the option `secrets.cookieKeys`. */
export function cookieSignature(secret: string, cookie: string): string {
  const key = createHmac('sha256', secret).update('gatehouse cookies').digest();
  return createHmac('sha256', key).update(cookie).digest('base64url');
}
