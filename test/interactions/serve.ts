import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import type { Middleware } from 'koa';

import { serve as serveApp } from '../access/serve.ts';

/** Serves a Koa app of these middlewares until the test ends. Resolves to its origin. */
export async function serve(t: ExecutionContext, ...middlewares: readonly Middleware[]): Promise<string> {
  const app = new Koa();
  // Koa's default prints the errors that tests cause.
  app.silent = true;
  for (const middleware of middlewares) app.use(middleware);
  return serveApp(t, app);
}
