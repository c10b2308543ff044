import { ServerResponse } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

import type { Context } from 'koa';

import { hasProblem } from '../access/guard.ts';
import type { AdmittingGuard } from '../access/guard.ts';
import { requireKnown } from '../access/requires.ts';
import type { PermissionCheck } from '../access/requires.ts';
import type { Gate, GuardOutcome, Logger, Principal, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { explainError, responseOf } from '../http/problem.ts';
import type { Problem, ProblemResponse } from '../http/problem.ts';
import { requestIdOf } from '../http/request.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import { boolean } from '../options/values.ts';
import type { AuthServer } from './auth-server.ts';
import type { NodeRequest, OwnApp } from './callback.ts';

type Authenticated<P extends string, U extends User, S extends object> = ReturnType<
  AuthServer<Gate<P, string, S>, U>['authenticate']
>;

interface AuthenticateOptions<P extends string> {
  readonly resource?: string | undefined;
  readonly session?: boolean | undefined;
  readonly permissions?: readonly P[] | undefined;
}

const OPTIONS = {
  resource: optional(unchecked<string>),
  session: optional(boolean, false),
  permissions: optional(unchecked<readonly string[]>, []),
};

/** Creates `auth.authenticate()`. */
export function createAuthenticate<P extends string, U extends User, S extends object>(
  app: OwnApp,
  {
    checkPermissions,
    gate,
    guardFor,
    logger,
    observers,
  }: {
    readonly checkPermissions: PermissionCheck<P>;
    readonly gate: Pick<Gate, 'has' | 'hasRule'>;
    readonly guardFor: (resource: string | undefined, session: boolean) => AdmittingGuard<P, U>;
    readonly logger: Logger;
    readonly observers: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
  },
): (request: NodeRequest, options?: AuthenticateOptions<P>) => Authenticated<P, U, S> {
  return async function authenticate(request, options = {}) {
    const { permissions, resource, session } = readOptions(OPTIONS, options, 'authenticate()');
    for (const name of permissions) requirePlain(name, gate);
    const { admit } = guardFor(resource, session);
    // Nothing of this response is sent. What reads cookies expects one.
    const ctx = app.createContext(request, new ServerResponse(request as IncomingMessage));
    try {
      const admission = await admit(ctx);
      if ('status' in admission) return refuse(ctx, admission);
      const problem = checkPermissions(admission.principal, permissions as readonly P[]);
      if (problem) {
        observers.guarded?.({ admitted: false, code: problem.code });
        return refuse(ctx, problem);
      }
      // The rules of the server are those of its gate.
      return { principal: admission.principal as Principal<P, U, S>, headers: headersOf(ctx) };
    } catch (error) {
      if (!hasProblem(error)) throw error;
      const { method, path } = ctx;
      return refuse(ctx, explainError(error, logger, { request_id: requestIdOf(ctx), method, path }));
    }
  };
}

/** @throws ConfigError for a permission that the gate does not define, or that has a rule */
function requirePlain(permission: string, gate: Pick<Gate, 'has' | 'hasRule'>): void {
  const place = `authenticate({ permissions: ['${permission}'] })`;
  requireKnown(permission, gate, place);
  if (gate.hasRule(permission))
    throw new ConfigError(
      place,
      `the rule gate.rules.${permission} decides about an object: load it, and ask principal.can('${permission}', object)`,
    );
}

function refuse(ctx: Context, problem: Problem): { problem: ProblemResponse } {
  const { headers, ...response } = responseOf(problem);
  return {
    problem: { ...response, headers: { ...headersOf(ctx), ...headers, 'X-Request-Id': requestIdOf(ctx) } },
  };
}

/** What the guard has set for a session: `Vary` and `Cache-Control`. */
function headersOf({ res }: { readonly res: { getHeaders(): OutgoingHttpHeaders } }): Record<string, string> {
  const { vary, 'cache-control': caching } = res.getHeaders();
  return {
    ...(vary !== undefined && { Vary: vary }),
    ...(caching !== undefined && { 'Cache-Control': caching }),
  };
}
