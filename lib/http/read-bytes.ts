import { isUtf8 } from 'node:buffer';

import type { Context } from 'koa';
import getRawBody from 'raw-body';

import { incomingBodyOf } from './reception.ts';
import type { IncomingBody } from './reception.ts';

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
