import { Readable } from 'node:stream';

import type { ActionContext, Answer } from '../actions/answer.ts';
import { pointerTo } from '../actions/run-action.ts';
import type { InputError } from '../actions/run-action.ts';
import { isObject } from './check-item.ts';
import type { BulkResult } from './check-item.ts';

/** Many calls of one action, as they were sent. */
export interface BulkRequest {
  readonly items: readonly unknown[];
  /** `independent`: each item by itself. `atomic`: all of them or none. */
  readonly mode: 'independent' | 'atomic';
  /** Check, and change nothing. */
  readonly dryRun: boolean;
}

/** Reads `{ items, mode?, dryRun? }`. What is in the items is looked at later. */
export function readBulk(
  body: unknown,
  maximum: number,
): BulkRequest | { readonly errors: readonly InputError[] } {
  if (!isObject(body)) return { errors: [{ pointer: '#', message: 'Send an object with items.' }] };
  const { items, mode = 'independent', dryRun = false, ...unknown } = body;
  const errors = Object.keys(unknown).map((name) => wrong(name, 'There is no such member.'));
  if (!Array.isArray(items)) errors.push(wrong('items', 'Give an array of items.'));
  else if (items.length === 0) errors.push(wrong('items', 'Give at least one item.'));
  else if (items.length > maximum) errors.push(wrong('items', `Give at most ${maximum} items.`));
  if (mode !== 'independent' && mode !== 'atomic')
    errors.push(wrong('mode', 'Give "independent" or "atomic".'));
  if (typeof dryRun !== 'boolean') errors.push(wrong('dryRun', 'Give true or false.'));
  if (errors.length > 0) return { errors };
  return { items, mode, dryRun } as BulkRequest;
}

function wrong(member: string, message: string): InputError {
  return { pointer: pointerTo([member]), message };
}

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
    lines.destroy(
      Object.assign(new Error('The client closed the connection'), { status: 499, expose: true }),
    ),
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
