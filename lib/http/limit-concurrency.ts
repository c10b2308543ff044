import type { Middleware } from 'koa';

import { overloadProblem } from './concurrency-limit.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import { sendProblem } from './problem.ts';

/** Applies the server's limit of concurrent requests, with problems for those that are refused. */
export function limitConcurrency(limit: Pick<ConcurrencyLimit, 'run'>): Middleware {
  return async function run(ctx, next) {
    return limit.run(ctx, next, (overload) => sendProblem(ctx, overloadProblem(overload)));
  };
}
