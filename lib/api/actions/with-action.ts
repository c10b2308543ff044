import type { Middleware, ParameterizedContext } from 'koa';

import type { GuardedState, StoredAnswer } from '../../contracts/index.ts';
import { problemDocument, sendProblem } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import type { ActionIndex } from './action-index.ts';
import type { Action } from './define-action.ts';

/** A request of somebody who may run the action that it names. */
export type ActionContext = ParameterizedContext<GuardedState>;

export type ActionHandler = (ctx: ActionContext, action: Action) => unknown;

/** Finds the action that the path names, for callers who may run it. Others get the 403 of its permission. */
export function withAction(actions: ActionIndex, handle: ActionHandler): Middleware<GuardedState> {
  return async function findAction(ctx) {
    const { type, action: name } = ctx['params'] as { type: string; action: string };
    const offered = actions.find(type, name);
    if (!offered) {
      sendProblem(ctx, {
        status: 404,
        code: 'action_not_found',
        detail: 'There is no such action. The list of actions has those that you may run.',
      });
      return;
    }
    await offered.requirePermission(ctx, async () => handle(ctx, offered.action));
  };
}

// What no object is called, and what some databases stumble over.
const OBJECT_ID = /^\P{Cc}{1,255}$/u;

export const OBJECT_ID_RULE = 'An id has 1 to 255 characters, and no control characters.';

/** Tells whether an object can have this id. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && OBJECT_ID.test(value);
}

/** Aborted when the caller goes away before the answer was sent. */
export function whileCallerWaits(ctx: ActionContext): AbortSignal {
  const gone = new AbortController();
  const { res } = ctx;
  res.once('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  if (res.closed) gone.abort();
  return gone.signal;
}

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
