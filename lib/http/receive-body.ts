import type { IncomingMessage } from 'node:http';

import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import { arrivingBodyOf } from './arriving-bodies.ts';
import type { ArrivingBody } from './arriving-bodies.ts';

/** The size limit of one body, and its name. */
export interface BodyLimits {
  /** In bytes. */
  readonly limit: number;
  /** The word for the body in error messages. */
  readonly name: 'body' | 'form';
}

/** Whether no reader has begun to read the body of a request. */
export function isUnread(req: IncomingMessage): boolean {
  return req.readable && !req.readableDidRead;
}

/**
 * Runs `read` on an unread body, within the limits of size, time and memory. The rest of a refused body is discarded.
 *
 * @throws BodyError - 413 for a larger body; 415 for a compressed one; 408 for one that is not received in time; 503 when the
 * memory for bodies is used up; 400 for any other error that `read` throws, unless it is a `BodyError` already
 */
export async function receiveBody<T>(
  ctx: Context,
  { limit, name }: BodyLimits,
  read: () => Promise<T>,
): Promise<T> {
  const { req } = ctx;
  if (!['', 'identity'].includes(ctx.get('content-encoding'))) {
    throw discardRest(ctx, new BodyError(`The ${name} must not be compressed.`, { status: 415 }));
  }
  // Some parsers never settle for a request whose connection has closed.
  if (req.destroyed) throw new BodyError(`The ${name} could not be read.`);
  const tracked = arrivingBodyOf(req);
  const { 'content-length': length } = req.headers;
  const refused = Number(length) > limit ? 'too large' : tracked?.reserve(Number(length ?? 0));
  // Node discards an unread body of known length by itself, and the connection stays usable: the client receives the 503.
  if (refused === 'no capacity') throw noCapacity(ctx);
  if (refused) throw discardRest(ctx, tooLarge(limit, name));
  try {
    const work = length === undefined ? readCounted(ctx, { limit, read, tracked }) : read();
    const received = await (tracked ? tracked.withTimeout(work) : work);
    if (received !== undefined) return received;
  } catch (cause) {
    throw discardRest(ctx, errorOf(cause, limit, name));
  }
  throw discardRest(ctx, new BodyError(`The ${name} was not received in time.`, { status: 408 }));
}

/** Reads a body of unknown length (chunked, or HTTP/2) and checks its size with each chunk. */
async function readCounted<T>(
  ctx: Context,
  {
    limit,
    read,
    tracked,
  }: {
    readonly limit: number;
    readonly read: () => Promise<T>;
    readonly tracked: ArrivingBody | undefined;
  },
): Promise<T> {
  const { req } = ctx;
  const exceeded = Promise.withResolvers<never>();
  let size = 0;
  // A listener for `data` starts the stream, so it is added only when `read` has started it.
  req.once('resume', () =>
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      const refused = size > limit ? TOO_LARGE : tracked?.reserve(chunk.length);
      if (refused) exceeded.reject(refused === 'no capacity' ? noCapacity(ctx) : TOO_LARGE);
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

/**
 * Discards the rest of a body and closes the connection after the response, then returns the error to throw. Node reads unread
 * bytes as the next request on a keep-alive connection, and a client that is still sending them blocks the connection.
 */
export function discardRest<E>(ctx: Context, error: E): E {
  if (!ctx.req.complete) {
    ctx.set('Connection', 'close');
    ctx.req.resume();
  }
  return error;
}

export function tooLarge(limit: number, name: string): BodyError {
  return new BodyError(`The ${name} is larger than ${limit} bytes.`, { status: 413 });
}

function noCapacity(ctx: Context): BodyError {
  ctx.set('Retry-After', '1');
  return new BodyError(
    'The server cannot accept a body of this size at the moment. Send the request again later.',
    { status: 503 },
  );
}
