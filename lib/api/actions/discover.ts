import type { Middleware } from 'koa';

import type { GuardedState } from '../../contracts/index.ts';
import type { ActionIndex } from './action-index.ts';
import type { Action } from './define-action.ts';
import type { ActionHandler } from './with-action.ts';

/** Answers `GET /actions` with those that the caller may run. `baseUrl` is the API's. */
export function listActions({ all }: ActionIndex, baseUrl: string): Middleware<GuardedState> {
  return function list(ctx) {
    const { principal } = ctx.state;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = {
      data: all
        .filter(({ permission }) => principal.can(permission))
        .map((action) => summaryOf(action, baseUrl)),
    };
  };
}

/** Answers `GET /actions/{type}/{action}`. */
export function describeAction(baseUrl: string): ActionHandler {
  return function describe(ctx, action) {
    ctx.set('Cache-Control', 'no-store');
    ctx.body = {
      data: { ...summaryOf(action, baseUrl), input: action.inputSchema, output: action.outputSchema },
    };
  };
}

function summaryOf(action: Action, baseUrl: string): object {
  const { type, name, level, title, description = null, permission, database } = action;
  const atomic = database !== undefined;
  const { execute, bulk } = pathsOf(action);
  const urls = { execute: baseUrl + execute, bulk: baseUrl + bulk };
  return { type, name, level, title, description, permission, atomic, urls };
}

/** Where an action is executed, below the API's prefix; `{id}` stands for the object's id. */
export function pathsOf({ type, name, level }: Action): { readonly execute: string; readonly bulk: string } {
  const execute = level === 'instance' ? `/actions/${type}/{id}/${name}` : `/actions/${type}/${name}`;
  return { execute, bulk: `/actions/${type}/${name}/bulk` };
}
