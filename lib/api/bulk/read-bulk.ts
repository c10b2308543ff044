import { Readable } from 'node:stream';

import type { ActionContext, Answer } from '../actions/answer.ts';
import { pointerTo } from '../actions/run-action.ts';
import type { InputError } from '../actions/run-action.ts';
import { isObject } from './check-item.ts';
import type { BulkResult } from './check-item.ts';

/** The body of a bulk request. */
export interface BulkRequest {
  readonly items: readonly unknown[];
  /** `independent`: each item by itself. `atomic`: all items in one transaction. */
  readonly mode: 'independent' | 'atomic';
  /** Whether nothing is changed: items are only checked or, if atomic, rolled back. */
  readonly dryRun: boolean;
}

/** Reads `{ items, mode?, dryRun? }`. The items themselves are checked later. */
export function readBulk(
  body: unknown,
  maximum: number,
): BulkRequest | { readonly errors: readonly InputError[] } {
  if (!isObject(body)) return { errors: [{ pointer: '#', message: 'Send an object with items.' }] };
  const { items, mode = 'independent', dryRun = false, ...unknown } = body;
  const errors = Object.keys(unknown).map((name) => memberError(name, 'There is no such member.'));
  if (!Array.isArray(items)) errors.push(memberError('items', 'Give an array of items.'));
  else if (items.length === 0) errors.push(memberError('items', 'Give at least one item.'));
  else if (items.length > maximum) errors.push(memberError('items', `Give at most ${maximum} items.`));
  if (mode !== 'independent' && mode !== 'atomic')
    errors.push(memberError('mode', 'Give "independent" or "atomic".'));
  if (typeof dryRun !== 'boolean') errors.push(memberError('dryRun', 'Give true or false.'));
  if (errors.length > 0) return { errors };
  return { items, mode, dryRun } as BulkRequest;
}

function memberError(member: string, message: string): InputError {
  return { pointer: pointerTo([member]), message };
}

const NDJSON = 'application/x-ndjson';

/** Whether the client prefers one line of JSON for each result. */
export function acceptsNdjson(ctx: ActionContext): boolean {
  return ctx.accepts('application/json', NDJSON) === NDJSON;
}

/**
 * Sends each result when it is available, and the counts as the last line. An answer without that line is incomplete.
 *
 * @param signal - aborted when the client closes the connection
 */
export function streamNdjson(
  ctx: ActionContext,
  results: AsyncIterable<BulkResult>,
  signal: AbortSignal,
): void {
  setHeaders(ctx);
  const lines = Readable.from(toLines(results));
  // Koa emits an error for a stream whose client has closed the connection. Koa does not log an error with `expose`.
  signal.addEventListener('abort', () =>
    lines.destroy(
      Object.assign(new Error('The client closed the connection'), { status: 499, expose: true }),
    ),
  );
  ctx.body = lines;
}

/** Sends the results of a complete answer as lines. */
export function sendNdjson(ctx: ActionContext, { body, headers = {} }: Answer): void {
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
    'Content-Type': `${NDJSON}; charset=utf-8`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
}
