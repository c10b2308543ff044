import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';

import { ConfigError } from '../errors.ts';
import { createMayServe, servesAll } from '../http/served-paths.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { AuthServer } from './auth-server.ts';

/** A request of Node's HTTP/1 or HTTP/2 server. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** A Koa app for a server that is not mounted in one. */
export type OwnApp = Omit<Koa, 'createContext'> & {
  // Koa's types have neither the contexts of HTTP/2, nor the method that runs a middleware and sends its response.
  createContext(request: unknown, response: unknown): Context;
  handleRequest(ctx: Context, run: (ctx: Context) => Promise<unknown>): Promise<void>;
};

export function createOwnApp({ logger, trustProxy }: Pick<ResolvedOptions, 'logger' | 'trustProxy'>): OwnApp {
  // The proxy appends one address to `X-Forwarded-For`. The client can have sent the ones before it, so only the last is used.
  const app = new Koa({ proxy: trustProxy, maxIpsCount: 1 });
  app.on('error', (error: Error & { expose?: boolean }, ctx?: Context) => {
    if (!error.expose && !isConnectionError(error, ctx)) logger.error({ err: error }, 'request failed');
  });
  return app as unknown as OwnApp;
}

/** Creates `auth.callback()`: it serves the given middleware of the server, then that of the host. */
export function createCallback(app: OwnApp, own: readonly Middleware[]): AuthServer['callback'] {
  return function callback(...served) {
    const wrong = served.findIndex((middleware) => typeof middleware !== 'function');
    if (wrong !== -1)
      throw new ConfigError(
        `callback(${wrong})`,
        'pass functions of Koa, such as createApiRouter({ auth }).routes() and await createMcpEndpoint({ auth, actions })',
      );
    const all = [...own, ...served] as Middleware[];
    const mayServe = createMayServe(all);
    const runAll = compose<Context>(all);
    // One of the host may change the path for those behind it.
    const others = all.slice(all.findIndex(servesAll));
    const runOthers = all.some(servesAll) ? compose<Context>(others) : undefined;
    return function handle(request, response, next) {
      const run = mayServe(request) ? runAll : runOthers;
      if (!next) void app.handleRequest(app.createContext(request, response), runAll);
      else if (run) void passOn(app, app.createContext(request, response), { next, run });
      else next();
    };
  };
}

/**
 * Runs the middleware. Koa listens to the response from the beginning: here, only when there is an answer, so that a request goes on
 * without a trace when there is none.
 */
async function passOn(
  app: OwnApp,
  ctx: Context,
  {
    next,
    run,
  }: { readonly next: (error?: unknown) => unknown; readonly run: (ctx: Context) => Promise<unknown> },
): Promise<unknown> {
  const { res } = ctx;
  const before = res.statusCode;
  // As Koa does before the first middleware.
  res.statusCode = 404;
  try {
    await run(ctx);
  } catch (error) {
    if (res.headersSent || !ctx.writable) return app.handleRequest(ctx, async () => Promise.reject(error));
    res.statusCode = before;
    return next(error);
  }
  if (!isAnswered(ctx)) {
    res.statusCode = before;
    return next();
  }
  const { statusCode } = res;
  return app.handleRequest(ctx, async () => {
    res.statusCode = statusCode;
  });
}

function isAnswered(ctx: Context & { readonly response: { readonly _explicitStatus?: boolean } }): boolean {
  if (ctx.respond === false || ctx.res.headersSent) return true;
  return ctx.status !== 404 || ctx.body !== undefined || ctx.response._explicitStatus === true;
}

/**
 * Whether an error that Koa reports is one of the client's connection: the connection was closed, or the bytes are not HTTP.
 * Such an error is not logged: it is no fault of the server, and Node attaches the bytes that it could not parse, which may
 * contain passwords and secrets.
 */
function isConnectionError(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  return (
    ctx?.req.socket.errored === error ||
    String(error.code).startsWith(PARSER_ERROR) ||
    isStreamEnded(error, ctx)
  );
}

/** Whether the client has ended the stream of a request over HTTP/2, whose connection goes on. */
function isStreamEnded(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  const { stream } = (ctx?.res ?? {}) as Partial<Http2ServerResponse>;
  return error.code === 'ERR_STREAM_PREMATURE_CLOSE' && stream?.destroyed === true;
}

const PARSER_ERROR = 'HPE_';
