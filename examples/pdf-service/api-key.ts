import { createHash, timingSafeEqual } from 'node:crypto';

import type { Middleware } from 'koa';

import { ServiceError } from './service-error.ts';

/** Requires the API key as a bearer token, before the body is read. `/health` needs no key. */
export function requireKey(apiKey: string): Middleware {
  const expected = digest(apiKey);
  return async function checkKey(ctx, next) {
    const [, given = ''] = /^Bearer +(.*)$/i.exec(ctx.get('Authorization')) ?? [];
    // Digests, because timingSafeEqual() needs values of the same length.
    if (apiKey !== '' && ctx.path !== '/health' && !timingSafeEqual(digest(given), expected)) {
      const headers = { 'WWW-Authenticate': 'Bearer' };
      throw new ServiceError(401, 'api_key_invalid', 'Send the API key: Authorization: Bearer ...', headers);
    }
    await next();
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
