import type { Middleware } from 'koa';

import type { GuardedState } from '../contracts.ts';
import { sendProblem } from '../http/problem.ts';

/** The paths that are planned for the Objects API (spec section 4.6). All are `GET`. */
export const OBJECT_PATHS: string[] = [
  '/objects/:type',
  '/objects/:type/schema',
  '/objects/:type/actions',
  '/objects/:type/:id',
];

/** Says that the Objects API is not there yet, so that nobody takes a 404 for "no such object". */
export const notImplemented: Middleware<GuardedState> = (ctx) => {
  sendProblem(ctx, {
    status: 501,
    code: 'not_implemented',
    detail: 'The Objects API is planned and not available yet.',
  });
};
