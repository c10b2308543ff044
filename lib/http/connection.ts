import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { finished } from 'node:stream';

import type { Milliseconds } from '../contracts/duration.ts';

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** What of a request or a response is on a connection. Over HTTP/2 it is a stream, and the connection is that of others too. */
export interface OnConnection {
  readonly stream?: ServerHttp2Stream;
}

/**
 * Calls a function when a response was sent completely or its connection has closed; soon when that is so already.
 *
 * The listener does not count towards the ten of which Node warns: a stream has seven of `pipeline()`, and the others are the host's.
 */
export function whenSent(res: ServerResponse & OnConnection, call: () => void): void {
  if (res.stream) {
    // Over HTTP/2 a response says so only when the client has sent all of its body too.
    finished(res.stream, { readable: false }, () => call());
    return;
  }
  if (res.closed) {
    call();
    return;
  }
  const most = res.getMaxListeners();
  if (most > 0) res.setMaxListeners(most + 1);
  res.once('close', call);
}

/** How long the rest of a body is waited for. */
const LINGERING: Milliseconds = 2000;

/**
 * Closes the connection after the response, and not before the body has arrived, for two seconds at most. Node would close it at once,
 * and the system of a client that is still sending would throw the response away (RFC 9112 section 9.6).
 */
export function closeAfterResponse({ req, res }: Exchange): void {
  // A connection of HTTP/2 goes on, and has no such field (RFC 9113 section 8.2.2).
  if (res.headersSent || req.httpVersionMajor > 1) return;
  res.setHeader('Connection', 'close');
  const { socket } = req;
  if (req.complete) return;
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
 * Closes the stream of a request over HTTP/2 whose response was sent when its body has arrived, or after two seconds. Node would wait for
 * the rest of a body that it has begun to read until the connection closes.
 */
export function closeStream(req: IncomingMessage, stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders || req.complete) return;
  req.resume();
  // Without an error: the response is complete (RFC 9113 section 8.1).
  const timer = setTimeout(() => stream.destroy(), LINGERING).unref();
  stream.once('close', () => clearTimeout(timer));
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
