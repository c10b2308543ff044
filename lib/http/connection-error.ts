import type { Context } from 'koa';

/**
 * Whether what Koa reports is an error of the client's connection: it went away, or what it sends is no HTTP. That is no
 * fault of the server, and nothing to log: Node leaves the bytes that it could not read on the error, with whatever
 * passwords and secrets they hold.
 */
export function isConnectionError(error: Error & { readonly code?: unknown }, ctx?: Context): boolean {
  return ctx?.req.socket.errored === error || String(error.code).startsWith(PARSER_ERROR);
}

const PARSER_ERROR = 'HPE_';
