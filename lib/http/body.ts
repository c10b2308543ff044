import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import type { ArrivingBody } from './arriving-bodies.ts';
import { closeAfterResponse } from './connection.ts';
import { checkJson, parseIJson } from './json.ts';
import { requestOf } from './request.ts';

export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

/** What a body may be. */
export interface BodyRules {
  /** In bytes. */
  readonly limit: number;
  /** The word for the body in error messages. */
  readonly name: 'body' | 'form';
  /** Media types in lower case. `undefined`: any. */
  readonly types?: readonly string[];
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
  const { req } = ctx;
  const { name, types } = rules;
  const type = ctx.request.type.trim().toLowerCase();
  const isAccepted = types?.includes(type) ?? true;
  if (!isAccepted && type !== '' && hasBodyField(ctx)) throw discardRest(ctx, unsupportedType(rules));
  const found = isUnread(req) ? utf8(await readBytes(ctx, rules), name) : readParsed(ctx, rules);
  if (found === undefined) return undefined;
  if (!isAccepted) throw unsupportedType(rules);
  return { type, ...found };
}

/**
 * Reads the bytes of a body that no reader has begun to read.
 *
 * @throws BodyError - as {@link readBody}, which also checks the content type and that the bytes are UTF-8
 */
export async function readBytes(ctx: Context, rules: BodyRules): Promise<Buffer> {
  const { req } = ctx;
  const tracked = admit(ctx, rules);
  return takeArrived(req) ?? receive(ctx, rules, tracked, () => collect(req, rules.limit));
}

/**
 * Takes a body of known length that is complete in its stream, which nobody else reads. To listen for the events of the stream
 * would cost more than all other steps. `undefined`: it is not complete.
 */
function takeArrived(req: IncomingMessage): Buffer | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  if (encoding !== undefined || Number(length) !== req.readableLength) return undefined;
  if (req.readableFlowing !== null || req.readableEncoding !== null) return undefined;
  const bytes = (req.read() as Buffer | null) ?? Buffer.alloc(0);
  // Node waits for the end of the stream before it forgets the request.
  req.resume();
  return bytes;
}

/** Collects the chunks of a body. More than the limit is not kept: the request is being refused, and the rest discarded. */
async function collect(req: IncomingMessage, limit: number): Promise<Buffer> {
  if (req.readableEncoding !== null) throw new TypeError('the stream decodes its chunks');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  req.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
  });
  req.once('end', () => {
    // A lenient parser of Node accepts both fields, and a `Content-Length` that is not that of the chunks.
    if (Number(req.headers['content-length'] ?? size) === size) resolve(Buffer.concat(chunks));
    else reject(new Error('the body has another length'));
  });
  // A body over HTTP/2 that is cut off ends too, after `aborted`.
  for (const event of ['aborted', 'error', 'close']) req.once(event, reject);
  return promise;
}

function utf8(bytes: Buffer, name: string): { bytes: Buffer } | undefined {
  if (!isUtf8(bytes)) throw new BodyError(`The ${name} is not UTF-8.`);
  return bytes.length === 0 ? undefined : { bytes };
}

interface ParsedRequest {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

function readParsed(
  ctx: Context,
  { limit, name }: BodyRules,
): { bytes: Buffer } | { text: string } | { value: unknown } | undefined {
  const request = ctx.request as ParsedRequest;
  const { body, rawBody } = request.body === undefined ? (ctx.req as ParsedRequest) : request;
  const sent = typeof rawBody === 'string' ? rawBody : body;
  const isWhole = typeof sent === 'string' || Buffer.isBuffer(sent);
  const length = isWhole ? Buffer.byteLength(sent) : Number(ctx.get('content-length'));
  if (length > limit) throw tooLarge(limit, name);
  if (Buffer.isBuffer(sent)) return utf8(sent, name);
  if (typeof sent === 'string') return sent === '' ? undefined : { text: sent };
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

function unsupportedType({ name, types = [] }: BodyRules): BodyError {
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
  return 'value' in found ? checkJson(found.value) : parseIJson(textOf(found));
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
export async function receiveBody<T>(ctx: Context, rules: BodyRules, read: () => Promise<T>): Promise<T> {
  return receive(ctx, rules, admit(ctx, rules), read);
}

/** Checks what the header says of an unread body, and reserves memory for a body of known length. */
function admit(ctx: Context, { limit, name }: BodyRules): ArrivingBody | undefined {
  const { req } = ctx;
  const { 'content-encoding': encoding = 'identity', 'content-length': length } = req.headers;
  if (encoding !== '' && encoding !== 'identity')
    throw discardRest(ctx, new BodyError(`The ${name} must not be compressed.`, { status: 415 }));
  // Some parsers never settle for a request whose connection has closed.
  if (req.destroyed) throw new BodyError(`The ${name} could not be read.`);
  const { body: tracked } = requestOf(ctx);
  const refused = Number(length) > limit ? 'too large' : tracked?.reserve(Number(length ?? 0));
  // Node discards an unread body of known length by itself, and the connection stays usable: the client receives the 503.
  if (refused === 'no capacity') throw noCapacity(ctx);
  if (refused) throw discardRest(ctx, tooLarge(limit, name));
  return tracked;
}

async function receive<T>(
  ctx: Context,
  rules: BodyRules,
  tracked: ArrivingBody | undefined,
  read: () => Promise<T>,
): Promise<T> {
  const { name } = rules;
  const { headers } = ctx.req;
  const isCounted = headers['content-length'] === undefined || 'transfer-encoding' in headers;
  try {
    const work = isCounted ? Promise.race([refusal(ctx, rules, tracked), read()]) : read();
    const received = await (tracked ? tracked.withTimeout(work) : work);
    if (received !== undefined) return received;
  } catch (cause) {
    throw discardRest(
      ctx,
      cause instanceof BodyError ? cause : new BodyError(`The ${name} could not be read.`, { cause }),
    );
  }
  throw discardRest(ctx, new BodyError(`The ${name} was not received in time.`, { status: 408 }));
}

/** Rejects as soon as a body of unknown length (chunked, or HTTP/2) is larger than its limit or the memory that is left. */
async function refusal(
  ctx: Context,
  { limit, name }: BodyRules,
  tracked: ArrivingBody | undefined,
): Promise<never> {
  const { req } = ctx;
  const { promise, reject } = Promise.withResolvers<never>();
  let size = 0;
  const count = (chunk: Buffer): void => {
    size += chunk.length;
    const refused = size > limit ? 'too large' : tracked?.reserve(chunk.length);
    if (refused) reject(refused === 'no capacity' ? noCapacity(ctx) : tooLarge(limit, name));
  };
  // A listener for `data` starts the stream, so it is added only when the reader has started it.
  if (req.readableFlowing) req.on('data', count);
  else req.once('resume', () => req.on('data', count));
  return promise;
}

/**
 * Discards the rest of a body and closes the connection after the response, then returns the error to throw. Node reads unread
 * bytes as the next request on a keep-alive connection, and a client that is still sending them blocks the connection.
 */
export function discardRest<E>(ctx: Context, error: E): E {
  if (!ctx.req.complete) {
    closeAfterResponse(ctx);
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
