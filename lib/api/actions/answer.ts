import type { ParameterizedContext } from 'koa';

import type { Reauthenticate } from '../../access/reauthentication.ts';
import type { GuardedState, StoredAnswer } from '../../contracts/index.ts';
import { whenSent } from '../../http/connection.ts';
import { NOT_STORED, problemDocument } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';

/** The context of a request whose user or client may run the action in its path. */
export type ActionContext = ParameterizedContext<GuardedState>;

/** Creates the function that authenticates a request again. */
export type ReauthenticatorOf = (ctx: ActionContext) => Reauthenticate;

/** A signal that is aborted when the connection closes before the answer was sent. */
export function callerSignal(ctx: ActionContext): AbortSignal {
  const controller = new AbortController();
  const { res } = ctx;
  whenSent(res, () => {
    if (!res.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** An answer that can be stored and sent again for a repeated request. */
export interface Answer extends StoredAnswer {
  readonly headers?: Problem['headers'];
}

/** A 200 with `data`, which is JSON text. */
export function dataAnswer(data: string): Answer {
  return { status: 200, body: `${DATA}${data}}` };
}

const DATA = '{"data":';

/** The JSON text that was given to {@link dataAnswer}. */
export function dataIn(body: string): string {
  return body.slice(DATA.length, -1);
}

export function problemAnswer(problem: Problem): Answer {
  const { status, headers = {} } = problem;
  return { status, body: JSON.stringify(problemDocument(problem)), headers };
}

export function sendAnswer(ctx: ActionContext, { status, body, headers = {} }: Answer): void {
  ctx.status = status;
  ctx.set({
    'Content-Type': `application/${status < 400 ? 'json' : 'problem+json'}; charset=utf-8`,
    ...NOT_STORED,
    ...headers,
  });
  ctx.body = body;
}
