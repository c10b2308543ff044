import type { StoredAnswer } from '../../contracts.ts';
import { problemDocument } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import type { ActionContext } from './with-action.ts';

/** An answer that can be stored, and given again. */
export interface Answer extends StoredAnswer {
  readonly headers?: Problem['headers'];
}

/** A 200 with data, which is JSON text. */
export function dataAnswer(data: string): Answer {
  return { status: 200, body: `{"data":${data}}` };
}

export function problemAnswer(problem: Problem): Answer {
  const { status, headers = {} } = problem;
  return { status, body: JSON.stringify(problemDocument(problem)), headers };
}

export function sendAnswer(ctx: ActionContext, { status, body, headers = {} }: Answer): void {
  ctx.status = status;
  ctx.set({
    'Content-Type': `application/${status < 400 ? 'json' : 'problem+json'}; charset=utf-8`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  });
  ctx.body = body;
}
