import type { Middleware } from 'koa';

import type { Gate, GuardOutcome, Principal } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { missingScope, sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { insufficientScope } from './challenge.ts';

/** What `createPermissionCheck()` takes. */
export interface PermissionCheckOptions<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'permissions'>;
  /** The issuer: the `realm` of a challenge where the API has no metadata. */
  readonly realm: string;
}

/** The problem to answer a principal with that lacks one of the permissions. `undefined`: it has all of them. */
export type PermissionCheck<P extends string = string> = (
  principal: Principal,
  permissions: readonly P[],
) => Problem | undefined;

export function createPermissionCheck<P extends string>({
  gate,
  realm,
}: PermissionCheckOptions<P>): PermissionCheck<P> {
  return function checkPermissions(principal, permissions) {
    const permission = permissions.find((name) => !principal.permissions.has(name));
    if (permission === undefined) return undefined;
    const missing = insufficientScope(principal, permissions, realm);
    if (missing) return missingScope({ permission, ...missing });
    return {
      status: 403,
      code: 'missing_permission',
      detail: gate.permissions[permission].message,
      members: { permission },
    };
  };
}

/** What `createRequires()` takes. */
export interface RequiresOptions<P extends string = string> extends PermissionCheckOptions<P> {
  readonly gate: Pick<Gate<P>, 'has' | 'permissions'>;
  /** `guarded` is called for each refused request. @default none */
  readonly observers?: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
}

/**
 * Creates a middleware that passes a request on when the user or the client has all of the given permissions. Otherwise it
 * answers 403 with the gate's message for the first missing permission; `insufficient_scope` with the scopes that are needed,
 * where only those of the token exclude it.
 *
 * Use it behind `auth.guard()`.
 *
 * @throws ConfigError when it is called without a permission or with one that the gate does not define; in a request, when
 * `auth.guard()` did not run before
 */
export type Requires<P extends string = string> = {
  /** Creates the middleware. */
  requires(...permissions: readonly [P, ...P[]]): Middleware;
}['requires'];

/** Creates `requires()` for a gate. */
export function createRequires<P extends string>(options: RequiresOptions<P>): Requires<P> {
  const { gate, observers } = options;
  const check = createPermissionCheck(options);
  return function requires(...permissions) {
    checkNames(permissions, (permission) => gate.has(permission));
    return function requirePermissions(ctx, next) {
      const { principal }: { readonly principal?: Principal } = ctx.state;
      if (!principal) {
        throw new ConfigError('requires()', 'mount auth.guard() before it, which sets the principal');
      }
      const problem = check(principal, permissions);
      if (!problem) return next();
      observers?.guarded?.({ admitted: false, code: problem.code });
      sendProblem(ctx, problem);
      return undefined;
    };
  };
}

function checkNames(permissions: readonly string[], isKnown: (permission: string) => boolean): void {
  if (permissions.length === 0) {
    throw new ConfigError(
      'requires()',
      'name at least one permission; a route for every caller needs the guard only',
    );
  }
  for (const permission of permissions) {
    if (!isKnown(permission)) {
      throw new ConfigError(
        `requires('${permission}')`,
        'the gate has no such permission; define it or correct the name',
      );
    }
  }
}
