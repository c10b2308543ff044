import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import { discardBody, readBytes } from './body.ts';

const JSON_TYPE = 'application/json';
const DEEPEST = 32;
const NO_ROOM = 'The server has no room for a body of this size at the moment. Send the request again later.';

/**
 * Reads a JSON body; `undefined` when there is none.
 *
 * What comes out is I-JSON (RFC 7493): no member twice, no half of a surrogate pair, numbers that JavaScript has. It
 * holds no NUL either, which databases stumble over, and is at most 32 levels deep. Works behind a host's body parser too.
 *
 * @param limit - in bytes
 * @throws BodyError - 413 for a larger body; 415 for another content type or a compressed one; 408 for one that does not arrive
 * in time; 503 when the bodies under way take up too much already; 400 for anything else
 */
export async function readJson(ctx: Context, limit: number): Promise<unknown> {
  if (Number(ctx.get('content-length')) > limit) throw discarded(ctx, largerThan(limit));
  const found = await findBody(ctx, limit);
  if (found === undefined) return undefined;
  if (ctx.request.type.toLowerCase() !== JSON_TYPE) {
    throw new BodyError(`Send the body as ${JSON_TYPE}.`, { status: 415 });
  }
  const value = 'text' in found ? parse(found.text) : found.value;
  const members = countMembers(value, 1);
  if ('text' in found && members !== countColons(found.text)) {
    throw new BodyError('An object of the body has a member twice.');
  }
  return value;
}

/** The text of the body, or what a host's parser has made of it. */
async function findBody(
  ctx: Context,
  limit: number,
): Promise<{ text: string } | { value: unknown } | undefined> {
  const { body: left, rawBody } = ctx.request as { body?: unknown; rawBody?: unknown };
  if (ctx.req.readable && !ctx.req.readableDidRead) {
    const text = await readText(ctx, limit);
    return text === '' ? undefined : { text };
  }
  if (typeof rawBody === 'string') return rawBody === '' ? undefined : { text: rawBody };
  if (typeof left === 'string') return left === '' ? undefined : { text: left };
  // Some parsers leave `{}` when there was nothing to parse.
  if (left !== undefined && ctx.request.type !== '') return { value: left };
  // Without either header field there was nothing to read (RFC 9112 section 6.3).
  if (ctx.get('transfer-encoding') === '' && !(Number(ctx.get('content-length')) > 0)) return undefined;
  throw new BodyError('The body was consumed by another middleware, which left nothing in ctx.request.body.');
}

async function readText(ctx: Context, limit: number): Promise<string> {
  if (!['', 'identity'].includes(ctx.get('content-encoding'))) {
    throw discarded(ctx, new BodyError('The body must not be compressed.', { status: 415 }));
  }
  const bytes = await readBytes(ctx, limit, (fault, cause) => {
    if (fault === 'too large') return largerThan(limit);
    if (fault === 'late') return new BodyError('The body did not arrive in time.', { status: 408 });
    if (fault === 'no room') return new BodyError(NO_ROOM, { status: 503 });
    const message = fault === 'incomplete' ? 'The body did not arrive whole.' : 'The body is not UTF-8.';
    return new BodyError(message, { cause });
  });
  // A decoder leaves a byte order mark out; a parser of JSON trips over it.
  return new TextDecoder().decode(bytes);
}

function discarded(ctx: Context, error: BodyError): BodyError {
  discardBody(ctx);
  return error;
}

function largerThan(limit: number): BodyError {
  return new BodyError(`The body is larger than ${limit} bytes.`, { status: 413 });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BodyError('The body is not valid JSON.', { cause });
  }
}

/** The number of members of all objects in a value, which is checked on the way. */
function countMembers(value: unknown, depth: number): number {
  if (typeof value === 'string') checkText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new BodyError('The body holds a number that is too large.');
  }
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > DEEPEST) throw new BodyError(`The body is more than ${DEEPEST} levels deep.`);
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item, depth + 1);
    return members;
  }
  for (const [name, member] of Object.entries(value)) {
    checkText(name);
    members += 1 + countMembers(member, depth + 1);
  }
  return members;
}

function checkText(text: string): void {
  if (text.includes('\0')) throw new BodyError('The body holds a NUL.');
  if (!text.isWellFormed()) throw new BodyError('The body holds half of a surrogate pair.');
}

// JSON.parse() keeps the last of two members with one name and tells nobody. Each member has one colon outside of strings.
function countColons(text: string): number {
  let colons = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') index += 1;
    else if (!inString && character === ':') colons += 1;
  }
  return colons;
}
