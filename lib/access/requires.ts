import type { Middleware } from 'koa';

import type { Gate, GuardOutcome, Principal } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { missingScope, sendProblem } from '../http/problem.ts';
import { insufficientScope } from './challenge.ts';

/** What `createRequires()` takes. */
export interface RequiresOptions<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'has' | 'permissions'>;
  /** The issuer: the `realm` of a challenge where the API has no metadata. */
  readonly realm: string;
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
  const { gate, observers, realm } = options;
  return function requires(...permissions) {
    checkPermissions(permissions, (permission) => gate.has(permission));
    return function requirePermissions(ctx, next) {
      const { principal }: { readonly principal?: Principal } = ctx.state;
      if (!principal) {
        throw new ConfigError('requires()', 'mount auth.guard() before it, which sets the principal');
      }
      for (const permission of permissions) {
        if (!principal.permissions.has(permission)) {
          const missing = insufficientScope(principal, permissions, realm);
          const problem = missing
            ? missingScope({ permission, ...missing })
            : {
                status: 403,
                code: 'missing_permission',
                detail: gate.permissions[permission].message,
                members: { permission },
              };
          observers?.guarded?.({ admitted: false, code: problem.code });
          sendProblem(ctx, problem);
          return undefined;
        }
      }
      return next();
    };
  };
}

function checkPermissions(permissions: readonly string[], isKnown: (permission: string) => boolean): void {
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
