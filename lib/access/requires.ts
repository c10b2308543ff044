import type { Context, Middleware, ParameterizedContext } from 'koa';

import type { Gate, GuardedState, GuardOutcome, Principal, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { missingScope, sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { insufficientScope } from './challenge.ts';

/** What a function that loads an object returns: the object or a promise of it, or `undefined` or `null` when there is none. */
export type Loaded<O> = O | null | undefined | Promise<O | null | undefined>;

/** The type of the objects that the rules of permissions decide about, or `unknown` when the rules are not known. */
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
 * The problem for a principal that lacks one of the permissions or may not use them on the object; `undefined` when it may.
 *
 * @param object - the object that the rules decide about; without it, no rule is asked
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
  // The types of objects are checked where an app requires permissions.
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

/** @param detail - a sentence that says which object does not exist */
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
 * Creates a middleware that passes a request on when the user or the client has all of the given permissions. Otherwise it answers 403
 * with the gate's message for the first missing permission or, where only the scopes of the token exclude that permission, 403
 * `insufficient_scope` with the scopes that are needed.
 *
 * A permission with a rule needs the object that the rule decides about, from a function of the context, which may be async:
 *
 *     auth.requires('edit_school', (ctx) => findSchool(ctx.params.id))
 *
 * The function is called when the caller has the permissions. The handlers find its result in `ctx.state.object`. The answer is 404
 * `object_not_found` when the result is `undefined` or `null`, and 403 when a rule refuses the object. For a list, use `principal.can()`
 * for each object instead.
 *
 * Use it behind `auth.guard()`.
 *
 * @throws ConfigError when it is called without a permission, with a permission that the gate does not define, with a permission that has
 * a rule but no function, or with a function but no permission that has a rule; and in a request, when `auth.guard()` did not run before
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

/** @throws ConfigError for a permission that the gate does not define */
export function requireKnown(
  permission: string,
  gate: { has(permission: string): boolean },
  place: string,
): void {
  if (gate.has(permission)) return;
  throw new ConfigError(place, 'the gate has no such permission; define it or correct the name');
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
  for (const permission of permissions) requireKnown(permission, gate, `requires('${permission}')`);
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
