import { Readable } from 'node:stream';

import type { Answer } from '../actions/answer.ts';
import type { ActionContext } from '../actions/with-action.ts';
import type { BulkResult } from './bulk-result.ts';

const LINES = 'application/x-ndjson';

/** Tells whether the caller asked for one line of JSON for each result. */
export function wantsLines(ctx: ActionContext): boolean {
  return ctx.accepts('application/json', LINES) === LINES;
}

/**
 * Sends results as they come, and at the end how many there were: without that line, the answer was cut off.
 *
 * @param signal - aborted when the caller goes away
 */
export function streamLines(
  ctx: ActionContext,
  results: AsyncIterable<BulkResult>,
  signal: AbortSignal,
): void {
  setHeaders(ctx);
  const lines = Readable.from(toLines(results));
  // Koa reports every stream that its reader left. With `expose`, it is not the server's fault and is not logged.
  signal.addEventListener('abort', () =>
    lines.destroy(Object.assign(new Error('The caller went away'), { status: 499, expose: true })),
  );
  ctx.body = lines;
}

/** Sends the results of a whole answer as lines. */
export function sendLines(ctx: ActionContext, { body, headers = {} }: Answer): void {
  const { data } = JSON.parse(body) as { data: { results: unknown[]; succeeded: number; failed: number } };
  const { results, succeeded, failed } = data;
  setHeaders(ctx);
  ctx.set(headers);
  ctx.body = [...results, { succeeded, failed }].map((line) => `${JSON.stringify(line)}\n`).join('');
}

async function* toLines(results: AsyncIterable<BulkResult>): AsyncGenerator<string> {
  let succeeded = 0;
  let failed = 0;
  for await (const result of results) {
    if (result.succeeded) succeeded += 1;
    else failed += 1;
    yield `${result.text}\n`;
  }
  yield `${JSON.stringify({ succeeded, failed })}\n`;
}

function setHeaders(ctx: ActionContext): void {
  ctx.status = 200;
  ctx.set({
    'Content-Type': `${LINES}; charset=utf-8`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
}
