import { isUtf8 } from 'node:buffer';

import type { Context } from 'koa';
import getRawBody from 'raw-body';

import { BodyError } from '../errors.ts';
import { incomingBodyOf } from './reception.ts';
import type { IncomingBody } from './reception.ts';

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
    const fields = collect(decode(await readText(ctx)));
    request.body = fields;
    return fields;
  }
  if (typeof left === 'string') return collect(decode(left));
  if (typeof left === 'object' && left !== null) return collect(Object.entries(left));
  throw new BodyError('The form was consumed by another middleware, which left nothing in ctx.request.body.');
}

async function readText(ctx: Context): Promise<string> {
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

/**
 * What can be wrong with the bytes of a body, whatever they are to mean; `late`: they did not arrive in time; `no room`: the
 * server has no memory for them now.
 */
export type BodyFault = 'too large' | 'incomplete' | 'not UTF-8' | 'late' | 'no room';

/**
 * Reads the body of a request that nobody has read, which has to be text in UTF-8.
 *
 * @param limit - in bytes
 * @param refuse - makes the error that is thrown for a fault; the rest of the body is discarded
 */
export async function readBytes(
  ctx: Context,
  limit: number,
  refuse: (fault: BodyFault, cause?: unknown) => Error,
): Promise<Buffer> {
  let read: Buffer | BodyFault;
  try {
    read = await readWhatFits(ctx, limit);
  } catch (cause) {
    discardBody(ctx);
    const isTooLarge = cause instanceof Error && 'type' in cause && cause.type === 'entity.too.large';
    throw refuse(isTooLarge ? 'too large' : 'incomplete', cause);
  }
  if (typeof read === 'string') {
    if (read === 'no room') ctx.set('Retry-After', '1');
    // Of a length that would have been taken, Node drops it as it comes, and the sender gets to see the answer.
    if (read !== 'no room' || ctx.get('content-length') === '') discardBody(ctx);
    throw refuse(read);
  }
  if (!isUtf8(read)) throw refuse('not UTF-8');
  return read;
}

async function readWhatFits({ req }: Context, limit: number): Promise<Buffer | BodyFault> {
  const length = req.headers['content-length'];
  const body = incomingBodyOf(req);
  if (!body) return getRawBody(req, { limit, length: length ?? null });
  // A larger one is refused for that.
  const announced = Math.min(Number(length ?? 0), limit);
  const refused = body.take(announced);
  if (refused) return refused;
  const reading = getRawBody(req, { limit, length: length ?? null });
  const counted = length === undefined ? countingUp(req, body) : undefined;
  return (await body.inTime(counted ? Promise.race([reading, counted]) : reading)) ?? 'late';
}

/** Takes room for a body of unknown length as it arrives; resolves when there is none left. */
async function countingUp(req: Context['req'], body: IncomingBody): Promise<BodyFault> {
  return new Promise((resolve) => {
    req.on('data', (chunk: Buffer) => {
      const refused = body.take(chunk.length);
      if (refused) resolve(refused);
    });
  });
}

/** What is left unread would be taken for the next request on the connection, or hold it. */
export function discardBody(ctx: Context): void {
  ctx.set('Connection', 'close');
  ctx.req.resume();
}
