import type { Context, Middleware, ParameterizedContext } from 'koa';

import type { Gate, GuardedState, GuardOutcome, Principal, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { missingScope, sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { insufficientScope } from './challenge.ts';

/** What a function that loads an object returns: the object, or a promise of it. `undefined` and `null`: there is none. */
export type Loaded<O> = O | null | undefined | Promise<O | null | undefined>;

/** The type of the objects that the rules of permissions decide about. `unknown`: the rules are not known. */
export type RuledObject<K, S extends object> = [keyof S] extends [never]
  ? unknown
  : [K & keyof S] extends [never]
    ? never
    : (K extends keyof S ? (object: S[K]) => void : never) extends (object: infer O) => void
      ? O
      : never;

/** What `createPermissionCheck()` takes. */
export interface PermissionCheckOptions<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'can' | 'hasRule' | 'permissions'>;
  /** The issuer: the `realm` of a challenge where the API has no metadata. */
  readonly realm: string;
}

/**
 * The problem to answer a principal with that lacks one of the permissions or, with an object, may not use them on it. `undefined`: it
 * may.
 *
 * @param object - what has to be there for rules to be asked
 */
export type PermissionCheck<P extends string = string> = (
  principal: Principal,
  permissions: readonly P[],
  ...object: readonly unknown[]
) => Problem | undefined;

export function createPermissionCheck<P extends string>({
  gate,
  realm,
}: PermissionCheckOptions<P>): PermissionCheck<P> {
  // The types of objects are checked where permissions are required.
  const ofAnyObject: { can(principal: Principal, permission: P, object: unknown): boolean } = gate;
  const missing = (permission: P): Problem => ({
    status: 403,
    code: 'missing_permission',
    detail: gate.permissions[permission].message,
    members: { permission },
  });

  return function checkPermissions(principal, permissions, ...object) {
    const lacked = permissions.find((name) => !principal.permissions.has(name));
    if (lacked !== undefined) {
      const scopes = insufficientScope(principal, permissions, realm);
      return scopes ? missingScope({ permission: lacked, ...scopes }) : missing(lacked);
    }
    if (object.length === 0) return undefined;
    const refused = permissions.find(
      (name) => gate.hasRule(name) && !ofAnyObject.can(principal, name, object[0]),
    );
    return refused === undefined ? undefined : missing(refused);
  };
}

/** @param detail - says which object there is not */
export function objectNotFound(detail = 'There is no such object.'): Problem {
  return { status: 404, code: 'object_not_found', detail };
}

/** What `createRequires()` takes. */
export interface RequiresOptions<P extends string = string> extends PermissionCheckOptions<P> {
  readonly gate: Pick<Gate<P>, 'can' | 'has' | 'hasRule' | 'permissions'>;
  /** `guarded` is called for each refused request. @default none */
  readonly observers?: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
}

/** The context in which an object is loaded, behind the guard. */
export type ObjectContext<P extends string, U extends User, S extends object> = ParameterizedContext<
  GuardedState<P, U, S>,
  { readonly params: Readonly<Record<string, string>> }
>;

/**
 * Creates a middleware that passes a request on when the user or the client has all of the given permissions. Otherwise it
 * answers 403 with the gate's message for the first missing permission; `insufficient_scope` with the scopes that are needed,
 * where only those of the token exclude it.
 *
 * A permission with a rule needs the object that the rule decides about, from a function of the context, which may be async:
 *
 *     auth.requires('edit_school', (ctx) => findSchool(ctx.params.id))
 *
 * It is called when the caller has the permissions. The handlers find its result in `ctx.state.object`; `undefined` and `null` are
 * answered with 404 `object_not_found`, and what a rule refuses with 403. For a list, use `principal.can()` for each object instead.
 *
 * Use it behind `auth.guard()`.
 *
 * @throws ConfigError when it is called without a permission or with one that the gate does not define, with a rule and without a
 * function, or with a function and without a rule; in a request, when `auth.guard()` did not run before
 */
export type Requires<P extends string = string, U extends User = User, S extends object = object> = {
  /** Creates the middleware. */
  requires(...permissions: readonly [Exclude<P, keyof S>, ...Exclude<P, keyof S>[]]): Middleware;
  /** Creates the middleware, which asks the rules of the permissions about an object. */
  requires<K extends P, O extends RuledObject<K, S>>(
    ...required: readonly [
      ...permissions: readonly [K, ...K[]],
      object: (ctx: ObjectContext<P, U, S>) => Loaded<O>,
    ]
  ): Middleware<{ object: O }>;
}['requires'];

/** Creates `requires()` for a gate. */
export function createRequires<P extends string, U extends User = User, S extends object = object>(
  options: RequiresOptions<P>,
): Requires<P, U, S> {
  const { gate, observers } = options;
  const check = createPermissionCheck(options);
  type LoadObject = (ctx: ObjectContext<P, U, S>) => Loaded<unknown>;

  function refuse(ctx: Context, problem: Problem): undefined {
    observers?.guarded?.({ admitted: false, code: problem.code });
    sendProblem(ctx, problem);
    return undefined;
  }

  function requires(...required: readonly (P | LoadObject)[]): Middleware {
    const last = required.at(-1);
    const load = typeof last === 'function' ? last : undefined;
    const permissions = (load ? required.slice(0, -1) : required) as readonly P[];
    checkRequired(permissions, { gate, hasObject: load !== undefined });

    async function requireObject(
      ctx: ObjectContext<P, U, S> & { state: { object?: unknown } },
      principal: Principal,
      next: () => unknown,
    ): Promise<unknown> {
      const object = await load!(ctx);
      if (object === undefined || object === null) return sendProblem(ctx, objectNotFound());
      const problem = check(principal, permissions, object);
      if (problem) return refuse(ctx, problem);
      ctx.state.object = object;
      return next();
    }

    return function requirePermissions(ctx, next) {
      const { principal }: { readonly principal?: Principal } = ctx.state;
      if (!principal) {
        throw new ConfigError('requires()', 'mount auth.guard() before it, which sets the principal');
      }
      const problem = check(principal, permissions);
      if (problem) return refuse(ctx, problem);
      return load ? requireObject(ctx as unknown as ObjectContext<P, U, S>, principal, next) : next();
    };
  }
  return requires as Requires<P, U, S>;
}

function checkRequired(
  permissions: readonly string[],
  {
    gate,
    hasObject,
  }: {
    readonly gate: { has(permission: string): boolean } & Pick<Gate, 'hasRule'>;
    readonly hasObject: boolean;
  },
): void {
  if (permissions.length === 0) {
    throw new ConfigError(
      'requires()',
      'name at least one permission; a route for every caller needs the guard only',
    );
  }
  const unknown = permissions.find((permission) => !gate.has(permission));
  if (unknown !== undefined) {
    throw new ConfigError(
      `requires('${unknown}')`,
      'the gate has no such permission; define it or correct the name',
    );
  }
  const ruled = permissions.find((permission) => gate.hasRule(permission));
  if (ruled !== undefined && !hasObject) {
    throw new ConfigError(
      `requires('${ruled}')`,
      `the rule gate.rules.${ruled} decides about an object: return it from a function, as in requires('${ruled}', (ctx) => findSchool(ctx.params.id)); for a list, ask principal.can('${ruled}', object) for each object instead`,
    );
  }
  if (ruled === undefined && hasObject) {
    throw new ConfigError(
      `requires('${permissions[0]}', object)`,
      `the permission has no rule; add gate.rules.${permissions[0]}, or leave the function out`,
    );
  }
}
