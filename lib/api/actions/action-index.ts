import type { Context, Middleware } from 'koa';

import type { GuardedState } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import { sendProblem } from '../../http/problem.ts';
import type { ApiAuth } from '../auth.ts';
import type { ActionContext } from './answer.ts';
import type { Action } from './define-action.ts';

/** An action of this API, and who may run it. */
export interface OfferedAction {
  readonly action: Action;
  /** Lets callers through who hold the action's permission, and answers the others. */
  readonly requirePermission: Middleware<GuardedState>;
}

/** The actions of an API. */
export interface ActionIndex {
  /** In the order in which they were given. */
  readonly all: readonly Action[];
  find(type: string, name: string): OfferedAction | undefined;
}

/** @throws ConfigError for an action that is there twice, or whose permission the gate does not know */
export function indexActions<P extends string>(
  actions: readonly Action<P>[],
  { gate, requires }: Pick<ApiAuth<P>, 'gate' | 'requires'>,
): ActionIndex {
  const offered = new Map<string, OfferedAction>();
  for (const action of actions) {
    const { type, name, permission } = action;
    const key = `${type}/${name}`;
    if (offered.has(key)) throw new ConfigError('actions', `${key} is defined twice; remove or rename one`);
    if (!gate.has(permission)) {
      throw new ConfigError(
        `${name}.permission`,
        `the gate has no permission "${String(permission)}"; define it or correct the name`,
      );
    }
    offered.set(key, { action, requirePermission: requires(permission) });
  }
  return { all: actions, find: (type, name) => offered.get(`${type}/${name}`) };
}

export type ActionHandler = (ctx: ActionContext, action: Action) => unknown;

/** Finds the action that the path names, for callers who may run it. Others get the 403 of its permission. */
export function withAction(actions: ActionIndex, handle: ActionHandler): Middleware<GuardedState> {
  return async function findAction(ctx) {
    const { type, action: name } = ctx['params'] as { type: string; action: string };
    const offered = actions.find(type, name);
    if (!offered) return sendActionNotFound(ctx);
    await offered.requirePermission(ctx, async () => handle(ctx, offered.action));
  };
}

function sendActionNotFound(ctx: Context): void {
  sendProblem(ctx, {
    status: 404,
    code: 'action_not_found',
    detail: 'There is no such action. The list of actions has those that you may run.',
  });
}

/**
 * Answers `GET /actions`, and `GET /actions/{type}` for one type of object, with the actions that the caller may run. A type
 * without actions is 404.
 *
 * @param baseUrl - the API's
 */
export function listActions({ all }: ActionIndex, baseUrl: string): Middleware<GuardedState> {
  return function list(ctx) {
    const { principal } = ctx.state;
    const { type } = ctx['params'] as { type?: string };
    const listed = type === undefined ? all : all.filter((action) => action.type === type);
    if (type !== undefined && listed.length === 0) return sendActionNotFound(ctx);
    ctx.set('Cache-Control', 'no-store');
    ctx.body = {
      data: listed
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
