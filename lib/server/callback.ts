import type { RequestListener } from 'node:http';

import Koa from 'koa';
import type { Context, Middleware } from 'koa';

import type { ResolvedOptions } from '../options/resolved-options.ts';

/** Creates the request listener that serves an authorization server in a Koa app of its own. */
export function createCallback(
  { logger, trustProxy }: Pick<ResolvedOptions, 'logger' | 'trustProxy'>,
  ...served: readonly Middleware[]
): RequestListener {
  // The proxy appends one address to `X-Forwarded-For`. The client can have sent the ones before it, so only the last is used.
  const app = new Koa({ proxy: trustProxy, maxIpsCount: 1 });
  app.on('error', (error: Error & { expose?: boolean }, ctx?: Context) => {
    if (!error.expose && !isConnectionError(error, ctx)) logger.error({ err: error }, 'request failed');
  });
  for (const middleware of served) app.use(middleware);
  const handle = app.callback();
  return (request, response) => void handle(request, response);
}

/**
 * Whether an error that Koa reports is one of the client's connection: the connection was closed, or the bytes are not HTTP.
 * Such an error is not logged: it is no fault of the server, and Node attaches the bytes that it could not parse, which may
 * contain passwords and secrets.
 */
function isConnectionError(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  return ctx?.req.socket.errored === error || String(error.code).startsWith(PARSER_ERROR);
}

const PARSER_ERROR = 'HPE_';
