import type { IncomingMessage } from 'node:http';

import type Koa from 'koa';

import { setPrincipal, impersonate } from '../access/guard.ts';
import type { Impersonation, PrincipalSources } from '../access/guard.ts';
import { createMakePrincipal, effectivePermissions } from '../access/principal.ts';
import type { PrincipalPermissions, PrincipalIdentity } from '../access/principal.ts';
import { scopesOf } from '../clients/consents.ts';
import type { Assignment, Client, ClientPrincipal, Gate, User, UserPrincipal } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { completeClient } from './storage/rows.ts';

/** The permissions, roles and scopes of a caller in an app. */
export interface ActingOptions {
  /**
   * The permissions of the caller, besides those of `roles`.
   * @default none if `roles` is given, else those of the user store, the assignments or the client
   */
  readonly permissions?: readonly string[];
  /** @default none if `permissions` is given, else those of the user store, the assignments or the client */
  readonly roles?: readonly string[];
  /** Scopes of the token, which limit the caller to the permissions that they allow. @default [] */
  readonly scopes?: readonly string[];
}

/** The permissions and roles of a caller in a context that the test creates. */
export interface ContextActingOptions<
  P extends string = string,
  R extends string = string,
  S extends object = object,
> {
  /** Defines the permissions, the roles and the rules. */
  readonly gate: Gate<P, R, S>;
  /** @default for a user [], for a client its own */
  readonly permissions?: readonly P[];
  /** @default for a user [], for a client its own */
  readonly roles?: readonly R[];
}

/** The client of a user's token: a registered one, or only the members that matter to the test. */
export interface Through {
  /** @default a client named "Test client" */
  readonly client?: Partial<Client>;
}

/** A user or a client acts in an app until `stop()`, or until the end of the block with `using acting = actingAsUser(...)`. */
export interface Acting extends Disposable {
  /** Ends it: requests need a token again, or are those of the user or client that acted before. */
  readonly stop: () => void;
}

/** The part of a Koa context that acting needs; `{ state: {} }` is enough. */
export interface ActingContext {
  readonly state: object;
  readonly req?: IncomingMessage;
}

/**
 * Makes a Koa app treat each request as one of a user, so that a test needs no token: guards accept it, and set `ctx.state` as
 * for a token of that user. A request with a bearer token is not affected. When several act, the last one is used.
 *
 * With a context instead of an app, `ctx.state` is set immediately, for a test of one handler or of the rules of a gate. This
 * needs the gate, and returns the principal.
 *
 * @throws ConfigError for an unknown permission, role or scope; in an app, it is thrown to the first request
 *
 * @example
 * import { actingAsUser } from 'koa-gatehouse/testing';
 * using acting = actingAsUser(app, { id: '1', name: 'Ann' }, { permissions: ['view_schools'] });
 * const response = await request(app.callback()).get('/api/v1/schools');
 *
 * @example
 * const ctx = { state: {}, params: { id: '7' } };
 * actingAsUser(ctx, ann, { gate, permissions: ['edit_schools'] });
 * await renameSchool(ctx);
 */
export function actingAsUser(app: Koa, user: User, options?: ActingOptions & Through): Acting;
export function actingAsUser<P extends string, R extends string, S extends object, U extends User>(
  ctx: ActingContext,
  user: U,
  options: ContextActingOptions<P, R, S> & Through,
): UserPrincipal<P, U, S>;
export function actingAsUser(
  target: Koa | ActingContext,
  user: User,
  options: (ActingOptions | ContextActingOptions) & Through = {},
): Acting | UserPrincipal {
  const client = completeClient(options.client ?? {}, 'authorization_code');
  const assignment = assignmentIn(options);
  const who = { type: 'user', user, client } as const;
  if (isApp(target)) return actInApp(target, impersonationOf(who, assignment, scopesIn(options)));
  return actInContext(target, options, who, assignment ?? NO_ASSIGNMENT);
}

/**
 * Makes a Koa app treat each request as one of a client that acts for itself, as {@link actingAsUser} does for a user. A client
 * with an `ownerId` has, as with a token, only the permissions that its owner has as well. With a context, the owner is not
 * looked up: the client has all permissions that it was given.
 *
 * @param client - a registered one, or only the members that matter to the test
 * @throws ConfigError as {@link actingAsUser}
 *
 * @example
 * import { actingAsClient } from 'koa-gatehouse/testing';
 * using acting = actingAsClient(app, { name: 'Nightly report' }, { permissions: ['view_schools'] });
 * const response = await request(app.callback()).get('/api/v1/schools');
 */
export function actingAsClient(app: Koa, client?: Partial<Client>, options?: ActingOptions): Acting;
export function actingAsClient<P extends string, R extends string, S extends object>(
  ctx: ActingContext,
  client: Partial<Client>,
  options: ContextActingOptions<P, R, S>,
): ClientPrincipal<P, S>;
export function actingAsClient(
  target: Koa | ActingContext,
  given: Partial<Client> = {},
  options: ActingOptions | ContextActingOptions = {},
): Acting | ClientPrincipal {
  // The permissions and roles of a client are members of it.
  const client = completeClient({ ...given, ...assignmentIn(options) }, 'client_credentials');
  const who = { type: 'client', user: undefined, client } as const;
  if (isApp(target)) return actInApp(target, impersonationOf(who, undefined, scopesIn(options)));
  return actInContext(target, options, who, client);
}

const NO_ASSIGNMENT: Assignment = { permissions: [], roles: [] };

function assignmentIn({ permissions, roles }: ActingOptions | ContextActingOptions): Assignment | undefined {
  if (permissions === undefined && roles === undefined) return undefined;
  return { permissions: permissions ?? [], roles: roles ?? [] };
}

function scopesIn(options: ActingOptions | ContextActingOptions): readonly string[] {
  return 'scopes' in options ? (options.scopes ?? []) : [];
}

function isApp(target: Koa | ActingContext): target is Koa {
  return 'createContext' in target;
}

// The users and clients that act in an app, in the order in which they began.
const impersonationsIn = new WeakMap<Koa, Set<Impersonation>>();

function actInApp(app: Koa, impersonation: Impersonation): Acting {
  const all = impersonationsIn.get(app) ?? impersonateIn(app);
  all.add(impersonation);
  const stop = (): void => void all.delete(impersonation);
  return { stop, [Symbol.dispose]: stop };
}

/** Wraps `createContext()`, which Koa calls for each request, so that it works also for an app that listens already. */
function impersonateIn(app: Koa): Set<Impersonation> {
  const all = new Set<Impersonation>();
  impersonationsIn.set(app, all);
  const createContext = app.createContext.bind(app);
  app.createContext = (request, response) => {
    const last = [...all].at(-1);
    if (last) impersonate(request, last);
    return createContext(request, response);
  };
  return all;
}

/**
 * Makes the principal of a user or client that acts in an app, as for a token.
 *
 * @param assignment - roles and permissions of a user. @default those of the user store or the assignments
 * @param granted - the scopes of the token
 */
function impersonationOf(
  who: PrincipalIdentity,
  assignment: Assignment | undefined,
  granted: readonly string[],
): Impersonation {
  return async (sources) => {
    const { gate, clientPermissions, userAssignments, scopes } = sources;
    const { client, user } = who;
    const given = user ? assignment : client;
    if (given) checkAssignment(given, gate);
    checkNames('scope', granted, (name) => scopes.has(name));
    const effective = user
      ? effectivePermissions(assignment ?? (await userAssignments.of(user)), gate)
      : await clientPermissions(client);
    return createMakePrincipal(sources)(who, effective, scopesOf({ scope: granted.join(' ') }, client));
  };
}

function actInContext<W extends PrincipalIdentity>(
  ctx: ActingContext,
  options: ActingOptions | ContextActingOptions,
  who: W,
  assignment: Assignment,
): W & PrincipalPermissions {
  if (!('gate' in options)) {
    throw new ConfigError('gate', 'with a context, pass the gate too: { gate, permissions }');
  }
  checkAssignment(assignment, options.gate);
  const makePrincipal = createMakePrincipal({ gate: options.gate, scopes: new Map() });
  const principal = makePrincipal(who, effectivePermissions(assignment, options.gate), undefined);
  setPrincipal(ctx.state, principal);
  // For a guard that the test calls with this context later.
  if (ctx.req) impersonate(ctx.req, impersonationOf(who, assignment, []));
  return principal;
}

/** Refuses unknown names, because a test with a misspelt one could pass for the wrong reason. */
function checkAssignment(
  { permissions, roles }: Assignment,
  gate: Pick<PrincipalSources['gate'], 'has' | 'roles'>,
): void {
  checkNames('permission', permissions, (name) => gate.has(name));
  checkNames('role', roles, (name) => Object.hasOwn(gate.roles, name));
}

function checkNames(kind: string, names: readonly string[], isKnown: (name: string) => boolean): void {
  const unknown = names.find((name) => !isKnown(name));
  if (unknown !== undefined)
    throw new ConfigError(`${kind}s`, `there is no ${kind} "${unknown}"; correct it in the test`);
}
