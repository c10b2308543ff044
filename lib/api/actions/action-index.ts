import type { Context, Middleware } from 'koa';

import { createPermissionCheck } from '../../access/requires.ts';
import type { Gate, GuardedState, Principal } from '../../contracts/index.ts';
import type { ServerParts } from '../../contracts/server-parts.ts';
import { ConfigError } from '../../errors.ts';
import { sendProblem } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import type { ActionContext } from './answer.ts';
import { checkObject } from './define-action.ts';
import type { Action } from './define-action.ts';

/** An action of an API, with the check of its permission. */
export interface ApiAction extends Action {
  /** The problem for a principal that lacks the permission or may not use it on the object; `undefined` when it may. */
  refusalOf(this: void, principal: Principal, ...object: readonly unknown[]): Problem | undefined;
}

/** The actions of an API. */
export interface ActionIndex {
  /** All actions, in the order of the option `actions`. */
  readonly all: readonly ApiAction[];
  find(type: string, name: string): ApiAction | undefined;
}

/** Checks the actions of an API or an endpoint. */
export function actionList<P extends string>(
  place: string,
  given: readonly Action<P>[],
): readonly Action<P>[] {
  if (!Array.isArray(given)) {
    throw new ConfigError(place, 'list the actions in an array: [defineAction({ ... })]');
  }
  const wrong = given.findIndex((action: Action<P> | undefined) => typeof action?.inputSchema !== 'object');
  if (wrong === -1) return given;
  throw new ConfigError(`${place}[${wrong}]`, 'pass what defineAction() returned');
}

/**
 * Indexes the actions of an API by type and name.
 *
 * @throws ConfigError for a duplicate action, for a permission that the gate does not define, and for a permission with a rule when the
 * action loads no object
 */
export function indexActions<P extends string>(
  actions: readonly Action<P>[],
  {
    gate,
    issuer,
  }: { readonly gate: Pick<Gate<P>, 'can' | 'has' | 'hasRule' | 'permissions'>; readonly issuer: string },
): ActionIndex {
  const check = createPermissionCheck({ gate, realm: issuer });
  const indexed = new Map<string, ApiAction>();
  for (const action of actions) {
    const { type, name, permission } = action;
    const key = `${type}/${name}`;
    if (indexed.has(key)) throw new ConfigError('actions', `${key} is defined twice; remove or rename one`);
    if (!gate.has(permission)) {
      throw new ConfigError(
        `${name}.permission`,
        `the gate has no permission "${String(permission)}"; define it or correct the name`,
      );
    }
    checkObject(action, gate);
    indexed.set(key, {
      ...action,
      refusalOf: (principal, ...object) => check(principal, [permission], ...object),
    });
  }
  return { all: [...indexed.values()], find: (type, name) => indexed.get(`${type}/${name}`) };
}

export type ActionHandler = (ctx: ActionContext, action: ApiAction) => unknown;

/** Finds the action in the path and checks its permission, then calls the handler. */
export function withAction(
  actions: ActionIndex,
  handle: ActionHandler,
  observers: ServerParts['observers'],
): Middleware<GuardedState> {
  return function findAction(ctx) {
    const { type, action: name } = ctx['params'] as { type: string; action: string };
    const action = actions.find(type, name);
    if (!action) return sendActionNotFound(ctx);
    const refusal = action.refusalOf(ctx.state.principal);
    if (!refusal) return handle(ctx, action);
    observers.guarded?.({ admitted: false, code: refusal.code });
    return sendProblem(ctx, refusal);
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
 * Answers `GET /actions`, and `GET /actions/{type}` for one type of object, with the actions that the caller may run. The answer for a
 * type without actions is 404.
 *
 * @param baseUrl - the URL of the API
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
        .map((action) => summarize(action, baseUrl)),
    };
  };
}

/** Answers `GET /actions/{type}/{action}`. */
export function describeAction(baseUrl: string): ActionHandler {
  return function describe(ctx, action) {
    ctx.set('Cache-Control', 'no-store');
    ctx.body = {
      data: { ...summarize(action, baseUrl), input: action.inputSchema, output: action.outputSchema },
    };
  };
}

function summarize(action: Action, baseUrl: string): object {
  const { type, name, level, title, description = null, permission, object, database } = action;
  const atomic = database !== undefined;
  const { execute, bulk } = pathsOf(action);
  const urls = { execute: baseUrl + execute, bulk: baseUrl + bulk };
  const checksObject = object !== undefined;
  return { type, name, level, title, description, permission, checksObject, atomic, urls };
}

/** The paths of an action below the API's prefix; `{id}` stands for the object's id. */
export function pathsOf({ type, name, level }: Action): { readonly execute: string; readonly bulk: string } {
  const execute = level === 'instance' ? `/actions/${type}/{id}/${name}` : `/actions/${type}/${name}`;
  return { execute, bulk: `/actions/${type}/${name}/bulk` };
}
