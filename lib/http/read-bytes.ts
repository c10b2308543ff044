import { isUtf8 } from 'node:buffer';

import type { Context } from 'koa';
import getRawBody from 'raw-body';

/** What can be wrong with the bytes of a body, whatever they are to mean. */
export type BodyFault = 'too large' | 'incomplete' | 'not UTF-8';

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
  let bytes: Buffer;
  try {
    bytes = await getRawBody(ctx.req, { limit, length: ctx.get('content-length') || null });
  } catch (cause) {
    discardBody(ctx);
    const isTooLarge = cause instanceof Error && 'type' in cause && cause.type === 'entity.too.large';
    throw refuse(isTooLarge ? 'too large' : 'incomplete', cause);
  }
  if (!isUtf8(bytes)) throw refuse('not UTF-8');
  return bytes;
}

/** What is left unread would be taken for the next request on the connection, or hold it. */
export function discardBody(ctx: Context): void {
  ctx.set('Connection', 'close');
  ctx.req.resume();
}
