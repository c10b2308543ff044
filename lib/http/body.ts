import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import type { Context } from 'koa';
import getRawBody from 'raw-body';

import { BodyError } from '../errors.ts';
import { checkJson, parseJson } from './json.ts';
import { discardRest, isUnread, receiveBody, tooLarge } from './receive-body.ts';
import type { BodyLimits } from './receive-body.ts';

export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

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

const PAGE_FORM: BodyRules = { limit: 16 * 1024, name: 'form', types: [FORM] };

/**
 * Reads the fields of a posted page form, at most 16 KiB of `application/x-www-form-urlencoded`.
 *
 * @throws BodyError - as {@link readBody}; 400 for a field that is repeated or nested, or contains a NUL character
 */
export async function readForm(ctx: Context): Promise<Record<string, string>> {
  const found = await readBody(ctx, PAGE_FORM);
  const fields = checkFields(found ? formEntries(found) : []);
  // Middleware that reads the same request later finds the fields here.
  Object.assign(ctx.request, { body: fields });
  return fields;
}

function formEntries(body: Body): [string, unknown][] {
  return 'value' in body ? Object.entries(body.value ?? {}) : decode(textOf(body));
}

function decode(form: string): [string, string][] {
  return form
    .split('&')
    .filter((field) => field !== '')
    .map((field) => {
      const [name = '', ...value] = field.split('=');
      return [percentDecode(name), percentDecode(value.join('='))];
    });
}

// Not URLSearchParams: it replaces bytes that are not UTF-8 with U+FFFD.
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new BodyError('The form is not percent-encoded UTF-8.', { cause });
  }
}

function checkFields(entries: readonly [string, unknown][]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of entries) {
    // `a[b]` and `a.b` are refused too: a host's parser nests them, and a form must have the same meaning with and without it.
    if (typeof value !== 'string' || name in fields || !/^[\w-]+$/.test(name)) {
      throw new BodyError('A field of the form is repeated, is nested or has an invalid name.');
    }
    // PostgreSQL refuses a NUL character in text, and some password hashes stop at it.
    if (value.includes('\0')) throw new BodyError('A field of the form contains a NUL character.');
    fields[name] = value;
  }
  return fields;
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
