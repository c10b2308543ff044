import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Milliseconds } from '../contracts/duration.ts';

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** How long the rest of a body is waited for. */
const LINGERING: Milliseconds = 2000;

/**
 * Closes the connection after the response, and not before the body has arrived, for two seconds at most. Node would close it at once,
 * and the system of a client that is still sending would throw the response away (RFC 9112 section 9.6).
 */
export function closeAfterResponse({ req, res }: Exchange): void {
  if (res.headersSent) return;
  res.setHeader('Connection', 'close');
  const { socket } = req;
  // A connection of HTTP/2 goes on.
  if (req.complete || req.httpVersionMajor > 1) return;
  const closeNow = socket.destroySoon.bind(socket);
  // Node calls it when the response was sent.
  socket.destroySoon = () => {
    if (req.complete || socket.destroyed) {
      closeNow();
      return;
    }
    // Not half of it now: clients take its end for that of their own half, and fail.
    const timer = setTimeout(closeNow, LINGERING).unref();
    req.once('close', () => {
      clearTimeout(timer);
      closeNow();
    });
  };
}

/**
 * Marks the errors of a connection as the client's while a request runs: `expose`, which Koa does not log. A client may disconnect, or
 * send bytes that are not HTTP, which Node attaches to the error.
 *
 * @returns ends it
 */
export function exposeConnectionErrors({ req }: Exchange): () => void {
  const { socket } = req;
  // An earlier request on the connection, whose response is still being sent, has done it.
  if (socket.listeners('error').includes(expose)) return () => {};
  // Before the listener by which Koa hears of them.
  socket.prependListener('error', expose);
  return () => socket.removeListener('error', expose);
}

function expose(error: Error): void {
  Object.assign(error, { expose: true });
}
