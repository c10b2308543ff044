import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import type { Context } from 'koa';
import getRawBody from 'raw-body';

import { BodyError } from '../errors.ts';
import { arrivingBodyOf } from './arriving-bodies.ts';
import type { ArrivingBody } from './arriving-bodies.ts';
import { checkJson, parseJson } from './json.ts';

export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

/** The size limit of one body, and its name. */
export interface BodyLimits {
  /** In bytes. */
  readonly limit: number;
  /** The word for the body in error messages. */
  readonly name: 'body' | 'form';
}

/** The media types and the size that a body may have. */
export interface BodyRules extends BodyLimits {
  /** Media types in lower case. */
  readonly types: readonly string[];
}

/** A body: its bytes, checked to be UTF-8, or its text, or the value that a host's body parser produced. */
export type Body = { readonly type: string } & (
  | { readonly bytes: Buffer }
  | { readonly text: string }
  | { readonly value: unknown }
);

/**
 * Reads the body of a request; `undefined` when there is none. Works in front of a host's body parser and behind one, where the
 * body is taken from `rawBody` or `body` of `ctx.request` or `ctx.req`.
 *
 * @throws BodyError - 413 for a larger body; 415 for another content type or a compressed one; 408 for one that is not received
 * in time; 503 when the memory for bodies is used up; 400 for one that is incomplete, not UTF-8, or read by a middleware that
 * did not set `ctx.request.body`
 */
export async function readBody(ctx: Context, rules: BodyRules): Promise<Body | undefined> {
  const type = ctx.request.type.trim().toLowerCase();
  const isAccepted = rules.types.includes(type);
  if (!isAccepted && type !== '' && hasBodyField(ctx)) throw discardRest(ctx, unsupportedType(rules));
  const found = isUnread(ctx.req) ? await readBytes(ctx, rules) : readParsed(ctx, rules);
  if (found === undefined) return undefined;
  if (!isAccepted) throw unsupportedType(rules);
  return { type, ...found };
}

async function readBytes(ctx: Context, rules: BodyRules): Promise<{ bytes: Buffer } | undefined> {
  const { req } = ctx;
  const { limit, name } = rules;
  const length = req.headers['content-length'] ?? null;
  const bytes = await receiveBody(ctx, rules, async () =>
    hasArrived(req) ? takeReceived(req) : getRawBody(req, { limit, length }),
  );
  if (!isUtf8(bytes)) throw new BodyError(`The ${name} is not UTF-8.`);
  return bytes.length === 0 ? undefined : { bytes };
}

/** Whether a body of known length is complete in its stream, which nobody else reads. */
function hasArrived(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  if (length === undefined || encoding !== undefined) return false;
  return (
    Number(length) === req.readableLength && req.readableFlowing === null && req.readableEncoding === null
  );
}

/** Takes a body that has arrived from its stream. To listen for the events of the stream would cost more than all other steps. */
function takeReceived(req: IncomingMessage): Buffer {
  const bytes = (req.read() as Buffer | null) ?? Buffer.alloc(0);
  // Node waits for the end of the stream before it forgets the request.
  req.resume();
  return bytes;
}

interface ParsedRequest {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

function readParsed(
  ctx: Context,
  { limit, name }: BodyLimits,
): { text: string } | { value: unknown } | undefined {
  const request = ctx.request as ParsedRequest;
  const { body, rawBody } = request.body === undefined ? (ctx.req as ParsedRequest) : request;
  const text = typeof rawBody === 'string' ? rawBody : body;
  const length = typeof text === 'string' ? Buffer.byteLength(text) : Number(ctx.get('content-length'));
  if (length > limit) throw tooLarge(limit, name);
  if (typeof text === 'string') return text === '' ? undefined : { text };
  // Some parsers set `{}` when there is no body.
  if (body !== undefined && ctx.request.type !== '') return { value: body };
  if (!hasBodyField(ctx)) return undefined;
  throw new BodyError(
    `The ${name} was already read by another middleware, which did not set ctx.request.body.`,
  );
}

// RFC 9112 section 6.3. A body over HTTP/2 may have neither field, so `readBody()` compares `ctx.request.type`: `ctx.is()`
// would find no body.
function hasBodyField({ req }: Context): boolean {
  return Number(req.headers['content-length']) > 0 || 'transfer-encoding' in req.headers;
}

function unsupportedType({ name, types }: BodyRules): BodyError {
  return new BodyError(`Send the ${name} as ${types.join(' or ')}.`, { status: 415 });
}

/**
 * Reads a JSON body; `undefined` when there is none.
 *
 * @param limit - in bytes
 * @throws BodyError - as {@link readBody}; 400 for text that is not JSON, or a value that {@link checkJson} refuses
 */
export async function readJson(ctx: Context, limit: number): Promise<unknown> {
  const found = await readBody(ctx, { limit, name: 'body', types: [JSON_TYPE] });
  if (found === undefined) return undefined;
  if ('value' in found) return checkJson(found.value);
  const text = textOf(found);
  return checkJson(parseJson(text), text);
}

/** The text of a body that no parser has parsed. */
export function textOf(body: Exclude<Body, { readonly value: unknown }>): string {
  // `TextDecoder` removes a byte order mark, which `JSON.parse()` refuses.
  return 'text' in body ? body.text : new TextDecoder().decode(body.bytes);
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

function tooLarge(limit: number, name: string): BodyError {
  return new BodyError(`The ${name} is larger than ${limit} bytes.`, { status: 413 });
}

function noCapacity(ctx: Context): BodyError {
  ctx.set('Retry-After', '1');
  return new BodyError(
    'The server cannot accept a body of this size at the moment. Send the request again later.',
    { status: 503 },
  );
}
