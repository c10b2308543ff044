import type { Middleware } from 'koa';
import Router from 'koa-router';
import type { AuthServer } from 'koa-gatehouse';
import { createMetrics } from 'koa-gatehouse/metrics';

import type { gate } from './gate.ts';

/** Serves the metrics of the server for Prometheus at `/metrics`. They need no token. */
export function serveMetrics(auth: AuthServer<typeof gate>): Middleware {
  const router = new Router().get('/metrics', createMetrics(auth).middleware());
  return router.routes() as Middleware;
}
