import type { IncomingMessage } from 'node:http';

import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import { arrivingBodyOf } from './arriving-bodies.ts';

/** How a body is received. */
export interface BodyLimits {
  /** In bytes. */
  readonly limit: number;
  /** What errors call it. */
  readonly name: 'body' | 'form';
}

/** Whether nobody has begun to read a request. */
export function isUnread(req: IncomingMessage): boolean {
  return req.readable && !req.readableDidRead;
}

/**
 * Lets `read` take in a body that nobody has begun to read, within the limits of size, time and memory. Of a body that is
 * refused, the rest is discarded.
 *
 * @throws BodyError - 413 for a larger body; 415 for a compressed one; 408 for one that does not arrive in time; 503 when there
 * is no memory for it now; 400 for what else `read` throws, unless it throws a `BodyError` itself
 */
export async function receiveBody<T>(
  ctx: Context,
  { limit, name }: BodyLimits,
  read: () => Promise<T>,
): Promise<T> {
  const { req } = ctx;
  if (!['', 'identity'].includes(ctx.get('content-encoding'))) {
    throw discarded(ctx, new BodyError(`The ${name} must not be compressed.`, { status: 415 }));
  }
  // Some parsers wait for ever for the end of a request whose connection has ended.
  if (req.destroyed) throw new BodyError(`The ${name} could not be read.`);
  const arriving = arrivingBodyOf(req);
  const { 'content-length': length } = req.headers;
  const refused = Number(length) > limit ? 'too large' : arriving?.take(Number(length ?? 0));
  // Node drops a body of known length as it comes, and the sender gets to see the answer.
  if (refused === 'no room') throw noRoom(ctx);
  if (refused) throw discarded(ctx, tooLarge(limit, name));
  try {
    const work = length === undefined ? counted(ctx, limit, read) : read();
    const received = await (arriving ? arriving.inTime(work) : work);
    if (received !== undefined) return received;
  } catch (cause) {
    throw discarded(ctx, errorOf(cause, limit, name));
  }
  throw discarded(ctx, new BodyError(`The ${name} did not arrive in time.`, { status: 408 }));
}

/** Counts a body of unknown length as it arrives. */
async function counted<T>(ctx: Context, limit: number, read: () => Promise<T>): Promise<T> {
  const { req } = ctx;
  const arriving = arrivingBodyOf(req);
  const exceeded = Promise.withResolvers<never>();
  let size = 0;
  // Not earlier: a listener for the data begins to read.
  req.once('resume', () =>
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      const refused = size > limit ? TOO_LARGE : arriving?.take(chunk.length);
      if (refused) exceeded.reject(refused === 'no room' ? noRoom(ctx) : TOO_LARGE);
    }),
  );
  return Promise.race([read(), exceeded.promise]);
}

const TOO_LARGE = { type: 'entity.too.large' };

function errorOf(cause: unknown, limit: number, name: string): BodyError {
  if (cause instanceof BodyError) return cause;
  const { type } = cause as { type?: unknown };
  if (type === TOO_LARGE.type) return tooLarge(limit, name);
  return new BodyError(`The ${name} could not be read.`, { cause });
}

/** What is left unread would be taken for the next request on the connection, or hold it. */
export function discarded<E>(ctx: Context, error: E): E {
  if (!ctx.req.complete) {
    ctx.set('Connection', 'close');
    ctx.req.resume();
  }
  return error;
}

export function tooLarge(limit: number, name: string): BodyError {
  return new BodyError(`The ${name} is larger than ${limit} bytes.`, { status: 413 });
}

function noRoom(ctx: Context): BodyError {
  ctx.set('Retry-After', '1');
  return new BodyError(
    'The server has no room for a body of this size at the moment. Send the request again later.',
    { status: 503 },
  );
}
