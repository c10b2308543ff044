import { Readable } from 'node:stream';

import { NOT_STORED, problemDocument } from '../../http/problem.ts';
import { dataAnswer } from '../actions/answer.ts';
import type { ActionContext, Answer } from '../actions/answer.ts';
import type { Outcome } from '../actions/perform-action.ts';

/** The body of a bulk request. */
export interface BulkRequest {
  readonly items: readonly unknown[];
  /** `independent` when each item runs by itself, `atomic` when all items run in one transaction. */
  readonly mode: 'independent' | 'atomic';
  /** Whether nothing is changed: items are only checked or, if atomic, rolled back. */
  readonly dryRun: boolean;
}

/** The result of one item. */
export interface BulkResult {
  readonly index: number;
  readonly succeeded: boolean;
  /** `{ index, status, output }` or `{ index, status, problem }` as JSON text, serialized once for both content types. */
  readonly text: string;
}

/** Makes the result of an item. Without an outcome, the item was only checked. */
export function resultOf(index: number, outcome: Outcome | undefined): BulkResult {
  if (outcome && 'problem' in outcome) {
    const { status } = outcome.problem;
    return {
      index,
      succeeded: false,
      text: JSON.stringify({ index, status, problem: problemDocument(outcome.problem) }),
    };
  }
  const output = outcome ? `,"output":${outcome.json}` : '';
  return { index, succeeded: true, text: `{"index":${index},"status":200${output}}` };
}

/** The answer with all results, in the order of the items. */
export function bulkAnswer({ mode, dryRun }: BulkRequest, results: readonly BulkResult[]): Answer {
  const succeeded = results.filter((result) => result.succeeded).length;
  const failed = results.length - succeeded;
  const head = JSON.stringify({ mode, dryRun, succeeded, failed }).slice(0, -1);
  return dataAnswer(`${head},"results":[${results.map(({ text }) => text).join(',')}]}`);
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
  ctx.set({ 'Content-Type': `${NDJSON}; charset=utf-8`, ...NOT_STORED });
}
