import type { Middleware, ParameterizedContext } from 'koa';

import type { GuardedState } from '../../contracts.ts';
import { sendProblem } from '../../http/problem.ts';
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
