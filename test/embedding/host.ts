import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import session from 'koa-session';

import { listenerOf } from '../harness/serve.ts';
import type { AppParts, Mounting } from '../harness/platform.ts';

/** What differs between the hosts of the tests. */
export interface HostOptions {
  readonly keys?: readonly string[] | undefined;
  /** Middleware before the authorization server. */
  readonly front?: readonly Middleware[];
  /** Middleware between the authorization server and the host's routes. */
  readonly behind?: readonly Middleware[];
  readonly proxy?: boolean;
  /** `false`: the same app without the authorization server. */
  readonly mounted?: boolean;
}

/** What a route of the host got of a request that passed the authorization server. */
export interface Report {
  readonly path: string;
  readonly url: string;
  readonly originalUrl: string;
  readonly query: Record<string, string>;
  readonly body: unknown;
  readonly views: number;
  readonly signature: string | undefined;
  readonly state: Record<string, unknown>;
  readonly ip: string;
}

/**
 * An app with its own session, error handler, 404 page, response time, `ctx.state`, and routes below `/oauth`.
 */
export function hostApp(options: HostOptions = {}): NonNullable<Mounting['app']> {
  return ({ auth, api }: AppParts) => {
    const { keys, front = [], behind = [], proxy = false, mounted = true } = options;
    const app = new Koa({ proxy });
    app.silent = true;
    if (keys) app.keys = [...keys];
    for (const middleware of [responseTime, ownErrors, ownNotFound]) app.use(middleware);
    app.use(session({ signed: keys !== undefined }, app));
    app.use(async (ctx, next) => {
      ctx.state['visitor'] = 'a user of the host';
      await next();
    });
    for (const middleware of front) app.use(middleware);
    if (mounted) app.use(auth.middleware());
    for (const middleware of behind) app.use(middleware);
    app.use(api.routes()).use(ownRoutes(new URL(auth.issuer).pathname.replace(/\/$/, '')));
    return listenerOf(app);
  };
}

async function responseTime(ctx: Context, next: () => Promise<void>): Promise<void> {
  const start = performance.now();
  await next();
  ctx.set('X-Response-Time', `${Math.round(performance.now() - start)}ms`);
  // What the host's access log would write.
  ctx.set('X-Logged', `${ctx.method} ${ctx.path} ${ctx.status}`);
}

async function ownErrors(ctx: Context, next: () => Promise<void>): Promise<void> {
  try {
    await next();
  } catch (error) {
    const { message, status = 500 } = error as Error & { status?: number };
    ctx.status = status;
    ctx.body = { host_error: message };
  }
}

async function ownNotFound(ctx: Context, next: () => Promise<void>): Promise<void> {
  await next();
  if (ctx.status !== 404 || ctx.body) return;
  ctx.status = 404;
  ctx.body = { host: 'nothing here' };
}

function ownRoutes(basePath: string): Middleware {
  const router = new Router();
  const paths = [
    '/report',
    '/oauth/custom',
    '/oauth/token/extra',
    '/oauth/interaction',
    '/.well-known/security.txt',
  ];
  router.all([...paths, ...paths.map((path) => basePath + path)], (ctx) => {
    const seen = ctx['session'].views ?? 0;
    ctx['session'].views = seen + 1;
    // Read before it is set: from the second request on it exists, if the host's signature is valid.
    const signature = ctx.cookies.get('host_mark', { signed: Boolean(ctx.app.keys) });
    ctx.cookies.set('host_mark', 'of the host', { signed: Boolean(ctx.app.keys) });
    const report: Report = {
      path: ctx.path,
      url: ctx.url,
      originalUrl: ctx.originalUrl,
      query: { ...(ctx.query as Record<string, string>) },
      body: ctx.request.body,
      views: seen + 1,
      signature,
      state: { ...ctx.state },
      ip: ctx.ip,
    };
    ctx.body = report;
  });
  router.get('/boom', () => {
    throw new Error('an error of the host');
  });
  return router.routes() as Middleware;
}
