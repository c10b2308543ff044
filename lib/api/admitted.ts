import type { Middleware } from 'koa';

import type { Admission } from '../http/admission.ts';
import { sendProblem } from '../http/problem.ts';
import { refusalProblem } from '../http/refusal.ts';

/** Lets in what the server lets in, and answers the rest with a problem. Without a server that counts, all is let in. */
export function admitted(admission: Pick<Admission, 'admit'> | undefined): Middleware {
  return async function admit(ctx, next) {
    if (!admission) return next();
    return admission.admit(ctx, next, (refusal) => sendProblem(ctx, refusalProblem(refusal)));
  };
}
