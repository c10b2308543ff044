import type { Middleware } from 'koa';

import type { Readiness } from './readiness.ts';

const LIVE = '/livez';
const READY = '/readyz';

/**
 * Serves `GET /livez`, which answers as long as the process does, and `GET /readyz`, for whoever decides where requests
 * go. The body is that of draft-inadarei-api-health-check-06, section 3: `status` is `pass` or `fail`, and `output` the
 * reason. It is for everybody and holds nothing that is not.
 */
export function healthEndpoints(ready: () => Promise<Readiness>): Middleware {
  return async function health(ctx, next) {
    const { method, path } = ctx;
    const isHealth = path === LIVE || path === READY;
    if (!isHealth || (method !== 'GET' && method !== 'HEAD')) return next();
    const readiness: Readiness = path === LIVE ? { ready: true } : await ready();
    ctx.status = readiness.ready ? 200 : 503;
    ctx.set({
      'Content-Type': 'application/health+json; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    ctx.body = JSON.stringify(
      readiness.ready ? { status: 'pass' } : { status: 'fail', output: readiness.reason },
    );
    return undefined;
  };
}
