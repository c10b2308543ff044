import type { IncomingMessage } from 'node:http';

import type { Context, ParameterizedContext } from 'koa';

import { secondsSince } from '../contracts/clock.ts';
import type {
  ChallengedApi,
  ConcurrencyLimit,
  GuardOutcome,
  GuardedState,
  Overload,
  Principal,
  StoredChange,
  Trace,
  User,
} from '../contracts/index.ts';
import { overloadProblem } from '../limits/concurrency-limit.ts';
import type { Problem } from '../http/problem.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { createAuthenticator } from './authenticator.ts';
import type { AuthenticatorOptions, VerifiedToken } from './authenticator.ts';
import { AUTH_FAILURES, unauthorized } from './challenge.ts';
import type { AuthFailure } from './challenge.ts';
import { createReauthentication } from './reauthentication.ts';
import type { Reauthenticate } from './reauthentication.ts';
import type { AuthenticateSession } from './session.ts';

/** What `createAdmission()` takes. */
export interface AdmissionOptions<
  P extends string = string,
  U extends User = User,
> extends AuthenticatorOptions<P, U> {
  /** The API that the tokens are for. */
  readonly api: ChallengedApi;
  /** Traces the verification of tokens, and what is read for sessions. @default none */
  readonly trace?: Trace;
  /** `guarded` is called with the outcome of each request. @default none */
  readonly observers?: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
  /** While this refuses requests, none is admitted. @default no request is refused */
  readonly server?: Pick<ConcurrencyLimit, 'refusal'>;
}

/** Whose a request is. */
export interface Admitted<P extends string, U extends User> {
  readonly principal: Principal<P, U>;
}

/** A request of an API. Of its context, only a session needs more. */
type GuardedRequest = Pick<Context, 'ip' | 'req'>;

/** Decides whose a request of an API is, without an answer. */
export interface Admission<P extends string = string, U extends User = User> {
  /**
   * Returns whose a request is, or the problem to answer with. No promise when the token is cached.
   *
   * @throws errors of the host's user store, and of the storage: see `hasProblem()`
   */
  admit(this: void, ctx: GuardedRequest): Admitted<P, U> | Problem | Promise<Admitted<P, U> | Problem>;
  /** Makes what authenticates a request again that was admitted. */
  reauthenticatorOf(this: void, ctx: ParameterizedContext<GuardedState<P, U>>): Reauthenticate<P, U>;
}

/** The admission of an API by tokens. */
export interface TokenAdmission<P extends string = string, U extends User = User> extends Admission<P, U> {
  /**
   * Removes tokens from the cache, so that a revocation on this node takes effect at once. Call it after the revocation is
   * stored. Without a match, all tokens are removed.
   */
  forget(this: void, match?: StoredChange): void;
  /** Authenticates a token without its request. @throws as {@link Admission.admit} */
  verify(this: void, token: string): Promise<VerifiedToken<P, U> | Problem>;
  /** The same, which also admits requests without a token that the function authenticates. */
  withSessions(this: void, authenticateSession: AuthenticateSession<P, U>): Admission<P, U>;
}

/** Creates the admission of an API. Each decision is counted once. */
export function createAdmission<P extends string, U extends User>(
  options: AdmissionOptions<P, U>,
): TokenAdmission<P, U> {
  const { api, now = () => Date.now(), observers, revocationLag, server, trace } = options;
  const authenticator = createAuthenticator(options);
  const count = ({ code }: Problem): void => observers?.guarded?.({ admitted: false, code });
  const again = createReauthentication({ api, authenticator, now, onEnd: count, revocationLag });

  function refused(problem: Problem): Problem {
    count(problem);
    return problem;
  }

  const refusedByServer = (overload: Overload): Problem => refused(overloadProblem(overload));

  /** @param load - reads the principal, or the problem to answer with */
  async function authenticate<A extends Admitted<P, U>>(
    load: () => Promise<A | Problem>,
  ): Promise<A | Problem> {
    const startedAt = performance.now();
    let result;
    try {
      result = trace ? await loadInTrace(trace, load) : await load();
    } catch (error) {
      observers?.guarded?.({ admitted: false, code: codeOf(error) });
      throw error;
    }
    if ('status' in result) return refused(result);
    const seconds = secondsSince(startedAt);
    const { credential } = result.principal;
    observers?.guarded?.({ admitted: true, remembered: false, credential, seconds });
    return result;
  }

  async function loadToken(
    token: string,
    ctx: GuardedRequest | undefined,
  ): Promise<VerifiedToken<P, U> | Problem> {
    const result = await authenticator.authenticate(token);
    if (!('principal' in result)) return unauthorized(api, result);
    if (ctx) result.onUse?.(ctx.ip);
    return result;
  }

  /** @param ctx - whose address a use is recorded with. `undefined`: no use is recorded */
  // Not async: a cached token needs no additional promise.
  function admitToken(
    token: string,
    ctx: GuardedRequest | undefined,
  ): VerifiedToken<P, U> | Problem | Promise<VerifiedToken<P, U> | Problem> {
    const known = authenticator.findCached(token);
    if (known === undefined) return authenticate(async () => loadToken(token, ctx));
    if (ctx) known.onUse?.(ctx.ip);
    observers?.guarded?.(cachedOutcome(known.principal.credential));
    return known;
  }

  const admission: Admission<P, U> = {
    admit(ctx) {
      if (server?.refusal !== undefined) return refusedByServer(server.refusal);
      const token = readBearerToken(ctx.req);
      return typeof token === 'string' ? admitToken(token, ctx) : refused(unauthorized(api, token));
    },
    // Admitted requests have a token.
    reauthenticatorOf: (ctx) => again.ofToken(readBearerToken(ctx.req) as string),
  };

  return {
    ...admission,
    forget: (match) => authenticator.forget(match),
    async verify(token) {
      if (server?.refusal !== undefined) return refusedByServer(server.refusal);
      return admitToken(token, undefined);
    },
    withSessions: (authenticateSession) => ({
      admit(given) {
        // Those who accept sessions have a whole context.
        const ctx = given as Context;
        ctx.vary(['Authorization', 'Cookie']);
        // A request with a token is judged by the token, even when the token is wrong and a session would be right.
        if (ctx.headers.authorization !== undefined || TOKEN_IN_URL.test(ctx.url))
          return admission.admit(ctx);
        if (server?.refusal !== undefined) return refusedByServer(server.refusal);
        // A route may set another value.
        ctx.set('Cache-Control', 'no-store');
        return authenticate(async () => {
          const result = await authenticateSession(ctx);
          return 'status' in result ? result : { principal: result };
        });
      },
      reauthenticatorOf(ctx) {
        const { principal } = ctx.state;
        return principal.credential === 'session'
          ? again.ofSession(ctx, principal, authenticateSession)
          : admission.reauthenticatorOf(ctx);
      },
    }),
  };
}

async function loadInTrace<A extends Admitted<string, User>>(
  trace: Trace,
  load: () => Promise<A | Problem>,
): Promise<A | Problem> {
  return trace('gatehouse.guard', async (span) => {
    const result = await load();
    span?.set(
      'status' in result ? { 'error.type': result.code } : { 'oauth.client_id': result.principal.client?.id },
    );
    return result;
  });
}

// Each outcome is made once, because almost every request has one of them.
const CACHED = new Map<string, GuardOutcome>();

function cachedOutcome(credential: Principal['credential']): GuardOutcome {
  const known = CACHED.get(credential);
  if (known) return known;
  const outcome: GuardOutcome = Object.freeze({ admitted: true, remembered: true, credential });
  CACHED.set(credential, outcome);
  return outcome;
}

function codeOf(error: unknown): string {
  return isUnavailable(error) ? 'temporarily_unavailable' : 'internal_error';
}

/**
 * Reads the token of a request from the `Authorization` header field only, because RFC 9700 section 4.3.2 rules out the query.
 * Bodies are not read: a member `access_token` in a body belongs to the host's API.
 *
 * Runs for every request, so it checks only what a cached token needs; the authenticator checks the form of other tokens.
 */
function readBearerToken(request: IncomingMessage): string | AuthFailure {
  const header = request.headers.authorization;
  const inUrl = TOKEN_IN_URL.test(request.url ?? '');
  if (header === undefined) return inUrl ? AUTH_FAILURES.misplaced : AUTH_FAILURES.missing;
  if (!header.startsWith('Bearer ') && !BEARER.test(header)) return AUTH_FAILURES.missing;
  if (inUrl) return AUTH_FAILURES.misplaced;
  if (isRepeated(request.rawHeaders)) return AUTH_FAILURES.repeated;
  return header.slice('Bearer '.length);
}

// The scheme is case-insensitive (RFC 9110 section 11.1). Without a token behind it, the field is a malformed Bearer field.
const BEARER = /^bearer(?: |$)/i;

/** A token in a URL is refused also beside a valid header field: every server on the path logs the URL. */
const TOKEN_IN_URL = /[?&]access_token=/;

// Node uses the first of several Authorization fields; a proxy in front may have used the last.
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}
