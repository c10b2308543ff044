import { isUtf8 } from 'node:buffer';

import type { Context } from 'koa';
import getRawBody from 'raw-body';

import { BodyError } from '../errors.ts';
import { checkJson, parseJson } from './json.ts';
import { discarded, isUnread, receiveBody, tooLarge } from './receive-body.ts';
import type { BodyLimits } from './receive-body.ts';

export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

/** What a body may be. */
export interface BodyRules extends BodyLimits {
  /** Media types in lower case. */
  readonly types: readonly string[];
}

/** The text of a body, or the bytes of it that are UTF-8, or what a host's body parser has made of it. */
export type Body = { readonly type: string } & (
  | { readonly bytes: Buffer }
  | { readonly text: string }
  | { readonly value: unknown }
);

/**
 * Reads the body of a request; `undefined` when there is none. Works in front of a host's body parser and behind it, where the
 * body is what the parser has left in `rawBody` or `body` of `ctx.request` or `ctx.req`.
 *
 * @throws BodyError - 413 for a larger body; 415 for another content type or a compressed one; 408 for one that does not arrive
 * in time; 503 when there is no memory for it now; 400 for one that is cut off, not UTF-8, or consumed without a trace
 */
export async function readBody(ctx: Context, rules: BodyRules): Promise<Body | undefined> {
  const type = ctx.request.type.trim().toLowerCase();
  const isTaken = rules.types.includes(type);
  if (!isTaken && type !== '' && isAnnounced(ctx)) throw discarded(ctx, otherType(rules));
  const found = isUnread(ctx.req) ? await readBytes(ctx, rules) : leftByParser(ctx, rules);
  if (found === undefined) return undefined;
  if (!isTaken) throw otherType(rules);
  return { type, ...found };
}

async function readBytes(ctx: Context, rules: BodyRules): Promise<{ bytes: Buffer } | undefined> {
  const { limit, name } = rules;
  const length = ctx.req.headers['content-length'] ?? null;
  const bytes = await receiveBody(ctx, rules, async () => getRawBody(ctx.req, { limit, length }));
  if (!isUtf8(bytes)) throw new BodyError(`The ${name} is not UTF-8.`);
  return bytes.length === 0 ? undefined : { bytes };
}

interface ParsedRequest {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

function leftByParser(
  ctx: Context,
  { limit, name }: BodyLimits,
): { text: string } | { value: unknown } | undefined {
  const request = ctx.request as ParsedRequest;
  const { body, rawBody } = request.body === undefined ? (ctx.req as ParsedRequest) : request;
  const text = typeof rawBody === 'string' ? rawBody : body;
  const length = typeof text === 'string' ? Buffer.byteLength(text) : Number(ctx.get('content-length'));
  if (length > limit) throw tooLarge(limit, name);
  if (typeof text === 'string') return text === '' ? undefined : { text };
  // Some parsers leave `{}` when there was nothing to parse.
  if (body !== undefined && ctx.request.type !== '') return { value: body };
  if (!isAnnounced(ctx)) return undefined;
  throw new BodyError(
    `The ${name} was consumed by another middleware, which left nothing in ctx.request.body.`,
  );
}

// RFC 9112 section 6.3. Over HTTP/2 there may be a body without either field: therefore not `ctx.is()`.
function isAnnounced({ req }: Context): boolean {
  return Number(req.headers['content-length']) > 0 || 'transfer-encoding' in req.headers;
}

function otherType({ name, types }: BodyRules): BodyError {
  return new BodyError(`Send the ${name} as ${types.join(' or ')}.`, { status: 415 });
}

const PAGE_FORM: BodyRules = { limit: 16 * 1024, name: 'form', types: [FORM] };

/**
 * Reads the fields of a posted page form, at most 16 KiB of `application/x-www-form-urlencoded`.
 *
 * @throws BodyError - as {@link readBody}; 400 for a field that is repeated, nested, or holds a NUL
 */
export async function readForm(ctx: Context): Promise<Record<string, string>> {
  const found = await readBody(ctx, PAGE_FORM);
  const fields = collect(found ? entriesOf(found) : []);
  // For a second reader of the same request.
  Object.assign(ctx.request, { body: fields });
  return fields;
}

function entriesOf(body: Body): [string, unknown][] {
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

function collect(entries: readonly [string, unknown][]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of entries) {
    // `a[b]` and `a.b` too: a host's parser nests them, and a form must not mean one thing here and another there.
    if (typeof value !== 'string' || name in fields || !/^[\w-]+$/.test(name)) {
      throw new BodyError('A field of the form is repeated, nested or oddly named.');
    }
    // A NUL means nothing to a person, and databases and password hashes stumble over it.
    if (value.includes('\0')) throw new BodyError('A field of the form holds a NUL.');
    fields[name] = value;
  }
  return fields;
}

/**
 * Reads a JSON body; `undefined` when there is none.
 *
 * @param limit - in bytes
 * @throws BodyError - as {@link readBody}; 400 for what is not JSON, or not such as {@link checkJson} lets through
 */
export async function readJson(ctx: Context, limit: number): Promise<unknown> {
  const found = await readBody(ctx, { limit, name: 'body', types: [JSON_TYPE] });
  if (found === undefined) return undefined;
  if ('value' in found) return checkJson(found.value);
  const text = textOf(found);
  return checkJson(parseJson(text), text);
}

/** The text of a body that no parser has read. */
export function textOf(body: Exclude<Body, { readonly value: unknown }>): string {
  // A decoder leaves a byte order mark out, over which a parser of JSON trips.
  return 'text' in body ? body.text : new TextDecoder().decode(body.bytes);
}
