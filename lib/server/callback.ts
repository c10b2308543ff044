import type { RequestListener } from 'node:http';

import Koa from 'koa';
import type { Context, Middleware } from 'koa';

import type { Logger } from '../contracts/index.ts';
import { isConnectionError } from '../http/concurrency-limit.ts';

/** What a server that stands alone is made of. */
export interface CallbackParts {
  readonly health: Middleware;
  readonly mount: Middleware;
  readonly logger: Logger;
  readonly trustProxy: boolean;
}

/** Serves an authorization server in a Koa app of its own. */
export function createCallback({ health, logger, mount, trustProxy }: CallbackParts): RequestListener {
  // Of what the header says, only the last address is the proxy's own word.
  const app = new Koa({ proxy: trustProxy, maxIpsCount: 1 });
  app.on('error', (error: Error & { expose?: boolean }, ctx?: Context) => {
    if (!error.expose && !isConnectionError(error, ctx)) logger.error({ err: error }, 'request failed');
  });
  const handle = app.use(health).use(mount).callback();
  return (request, response) => void handle(request, response);
}
