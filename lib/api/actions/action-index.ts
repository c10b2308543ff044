import type { Middleware } from 'koa';

import type { GuardedState } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import type { ApiAuth } from '../auth.ts';
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
