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

/** What a caller holds in an app. */
export interface ActingOptions {
  /** All that the caller holds, together with `roles`. @default what the user store, the assignments or the client say */
  readonly permissions?: readonly string[];
  /** @default with `permissions` none; otherwise as there */
  readonly roles?: readonly string[];
  /** As if these scopes had been granted: what they do not let through, the caller may not do. @default [] */
  readonly scopes?: readonly string[];
}

/** What a caller holds in a context of a test's own. */
export interface ContextActingOptions<
  P extends string = string,
  R extends string = string,
  S extends object = object,
> {
  /** Knows what there is to hold, and what the rules setPrincipal to. */
  readonly gate: Gate<P, R, S>;
  /** @default for a user [], for a client its own */
  readonly permissions?: readonly P[];
  /** @default for a user [], for a client its own */
  readonly roles?: readonly R[];
}

/** The client through which a user acts: a registered one, or as much of one as the test cares about. */
export interface Through {
  /** @default a client named "Test client" */
  readonly client?: Partial<Client>;
}

/** Somebody acts in an app until `stop()`, or until the end of the block in `using acting = actingAsUser(...)`. */
export interface Acting extends Disposable {
  /** Ends it: requests need a token again, or are those of whoever acted before. */
  readonly stop: () => void;
}

/** The part of a context that acting needs: `{ state: {} }` is one. */
export interface ActingContext {
  readonly state: object;
  readonly req?: IncomingMessage;
}

/**
 * Lets a Koa app take every request for one of a user, so that a test needs no token: guards let it through, and
 * `ctx.state` is what they set for a token of that user. A request with a bearer token keeps it, and when several
 * act, the last one does.
 *
 * With a context in place of the app, `ctx.state` is set at once: for the test of one handler or of a gate's rules. That
 * takes the gate, and gives the principal.
 *
 * @throws ConfigError for a permission, role or scope that there is not; in an app, the request that comes first fails
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
  return actInContext(target, options, who, assignment ?? NOTHING);
}

/**
 * Lets a Koa app take every request for one of a client that acts for itself, as {@link actingAsUser} does for a user. Of a
 * client with an `ownerId`, an app takes what both the client and its owner may do, as for a token. A context knows no
 * owners: there the client may do all that it holds.
 *
 * @param client - a registered one, or as much of one as the test cares about
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
  // What a client holds is written on it.
  const client = completeClient({ ...given, ...assignmentIn(options) }, 'client_credentials');
  const who = { type: 'client', user: undefined, client } as const;
  if (isApp(target)) return actInApp(target, impersonationOf(who, undefined, scopesIn(options)));
  return actInContext(target, options, who, client);
}

const NOTHING: Assignment = { permissions: [], roles: [] };

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

// PrincipalIdentity acts in an app, the last one behind the others.
const impersonationsIn = new WeakMap<Koa, Set<Impersonation>>();

function actInApp(app: Koa, impersonation: Impersonation): Acting {
  const all = impersonationsIn.get(app) ?? impersonateIn(app);
  all.add(impersonation);
  const stop = (): void => void all.delete(impersonation);
  return { stop, [Symbol.dispose]: stop };
}

/** Koa makes a context for each request through this method of the app, whether it listens already or not. */
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
 * Makes the principal of somebody who acts in an app, as it would be for a token.
 *
 * @param assignment - what a user holds. @default what the user store or the assignments say. A client holds what is written on it
 * @param granted - as if these scopes had been granted
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
  // For a guard further on.
  if (ctx.req) impersonate(ctx.req, impersonationOf(who, assignment, []));
  return principal;
}

/** A test that misspells a name would pass for the wrong reason. */
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
