import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import { readBytes } from './read-bytes.ts';

const FORM = 'application/x-www-form-urlencoded';
const LIMIT = 16 * 1024;

/**
 * Reads the fields of a posted page form, at most 16 KiB of `application/x-www-form-urlencoded`.
 *
 * Works behind a host's body parser too: what it left in `ctx.request.body` is held to the same rules.
 *
 * @throws BodyError - 413 for a larger body; 408 for one that does not arrive in time; 415 for another content type or a
 * compressed one; 400 for a field that is
 * repeated, nested, not UTF-8 or holds a NUL, and for a body that another middleware consumed
 */
export async function readForm(ctx: Context): Promise<Record<string, string>> {
  if (ctx.request.type.toLowerCase() !== FORM) {
    throw new BodyError(`The form must be sent as ${FORM}.`, { status: 415 });
  }
  const request = ctx.request as { body?: unknown };
  const left = request.body;
  const unread = ctx.req.readable && !ctx.req.readableDidRead;
  // A parser that was not meant for forms leaves `{}` and the stream as it was.
  if (unread && Object.keys(left ?? {}).length === 0) {
    const fields = collect(decode(await read(ctx)));
    request.body = fields;
    return fields;
  }
  if (typeof left === 'string') return collect(decode(left));
  if (typeof left === 'object' && left !== null) return collect(Object.entries(left));
  throw new BodyError('The form was consumed by another middleware, which left nothing in ctx.request.body.');
}

async function read(ctx: Context): Promise<string> {
  if (!['', 'identity'].includes(ctx.get('content-encoding'))) {
    throw new BodyError('The form must not be compressed.', { status: 415 });
  }
  const bytes = await readBytes(ctx, LIMIT, (fault, cause) => {
    if (fault === 'too large') return largerThanLimit();
    if (fault === 'late') return new BodyError('The form did not arrive in time.', { status: 408 });
    return new BodyError(fault === 'incomplete' ? 'The form could not be read.' : 'The form is not UTF-8.', {
      cause,
    });
  });
  return bytes.toString();
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
  } catch (error) {
    throw new BodyError('The form is not percent-encoded UTF-8.', { cause: error });
  }
}

function collect(entries: readonly [string, unknown][]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  let size = 0;
  for (const [name, value] of entries) {
    // `a[b]` and `a.b` too: a host's parser nests them, and a form must not mean one thing here and another there.
    if (typeof value !== 'string' || name in fields || !/^[\w-]+$/.test(name)) {
      throw new BodyError('A field of the form is repeated, nested or oddly named.');
    }
    // A NUL means nothing to a person, and databases and password hashes stumble over it.
    if (value.includes('\0')) throw new BodyError('A field of the form holds a NUL.');
    size += Buffer.byteLength(name) + Buffer.byteLength(value);
    if (size > LIMIT) throw largerThanLimit();
    fields[name] = value;
  }
  return fields;
}

function largerThanLimit(): BodyError {
  return new BodyError(`The form is larger than ${LIMIT} bytes.`, { status: 413 });
}
