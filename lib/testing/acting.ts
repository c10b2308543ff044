import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

import { effectivePermissions, makePrincipal } from '../access/principal.ts';
import type { PrincipalIdentity, PrincipalPermissions } from '../access/principal.ts';
import { setPrincipal } from '../access/reauthentication.ts';
import type { Assignment, Client, ClientPrincipal, Gate, User, UserPrincipal } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { checkNames } from '../options/declare.ts';
import { completeClient } from './complete-client.ts';
import { issueToken } from './issue-token.ts';
import type { AnyAuthServer, TokenRequest } from './issue-token.ts';

/** A Koa app. The type of `new Koa().use(…)` says what its middleware adds, so no one type of Koa's fits all apps. */
export interface KoaApp {
  /** As in Koa: the listener of an HTTP server. */
  callback(): RequestListener;
  /** As in Koa: called for each request. */
  createContext(request: IncomingMessage, response: ServerResponse): object;
}

/** An app and the server whose tokens its guard accepts, such as what `testServer()` returns. */
export interface AppUnderTest {
  readonly app: KoaApp;
  readonly auth: AnyAuthServer;
}

/** The scopes of a caller in an app. */
export interface ActingOptions {
  /** Scopes of the token, which limit the caller to the permissions that they allow. @default [] */
  readonly scopes?: readonly string[];
  /** The API of the token, one of the option `resources`. @default the issuer */
  readonly resource?: string;
}

/** The client of a user's token in an app. */
export interface ActingUserOptions extends ActingOptions {
  /** A registered client. @default one named "Test client", which is registered at the first use */
  readonly client?: Client;
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

/** The client of a user in a context. */
export interface Through {
  /** The members of the client that matter to the test. @default a client named "Test client" */
  readonly client?: Partial<Client>;
}

/** A user or a client acts in an app until `stop()`, or until the end of the block with `using`. */
export interface Acting extends Disposable {
  /** Ends it: requests need a token again, or are those of the user or client that acted before. */
  readonly stop: () => void;
}

/** The part of a Koa context that acting needs; `{ state: {} }` is enough. */
export interface ActingContext {
  readonly state: object;
}

/**
 * Issues an access token for a user and adds it to each request of an app that has no `Authorization` header field, so that a
 * test needs no token. The guard verifies it as any token: the user store has to find the user, and says which permissions the
 * user has. When several act, the last one is used. The endpoints where a client authenticates get no token.
 *
 * With a context instead of an app, `ctx.state` is set immediately, for a test of one handler or of the rules of a gate. This
 * needs the gate, and returns the principal.
 *
 * @throws ConfigError for a user that the user store does not find, a client of the other grant type, a scope that the client
 * may not request; with a context, for an unknown permission or role
 *
 * @example
 * import { actingAsUser, testServer } from 'koa-gatehouse/testing';
 * const ann = { id: '1', name: 'Ann', permissions: ['view_schools'] } as const;
 * await using server = await testServer({ gate, users: [ann], app: createApp });
 * using acting = await actingAsUser(server, ann);
 * const response = await fetch(`${server.origin}/api/v1/schools`);
 *
 * @example
 * const ctx = { state: {}, params: { id: '7' } };
 * actingAsUser(ctx, ann, { gate, permissions: ['edit_schools'] });
 * await renameSchool(ctx);
 */
export function actingAsUser(server: AppUnderTest, user: User, options?: ActingUserOptions): Promise<Acting>;
export function actingAsUser<P extends string, R extends string, S extends object, U extends User>(
  ctx: ActingContext,
  user: U,
  options: ContextActingOptions<P, R, S> & Through,
): UserPrincipal<P, U, S>;
export function actingAsUser(
  target: AppUnderTest | ActingContext,
  user: User,
  options: ActingUserOptions | (ContextActingOptions & Through) = {},
): Promise<Acting> | UserPrincipal {
  if (!('state' in target)) return actInApp(target, { ...(options as ActingUserOptions), user });
  checkNames(options, { ...IN_CONTEXT, client: true }, 'actingAsUser()');
  const client = clientOf(options.client ?? {}, 'authorization_code');
  return actInContext(
    target,
    options,
    { type: 'user', user, client, credential: 'access_token' },
    { permissions: [], roles: [] },
  );
}

/**
 * The same for a client that acts for itself, as with a token of its own: in an app a registered client, whose permissions are
 * its own, and those of its owner if it has one. With a context, the owner is not looked up: the client has all
 * permissions that it was given.
 *
 * @param client - with a context, the members that matter to the test are enough
 * @throws ConfigError as {@link actingAsUser}
 * @throws ClientNotFoundError for a client that is not registered
 *
 * @example
 * import { actingAsClient } from 'koa-gatehouse/testing';
 * const { client } = await server.auth.clients.create({
 *   name: 'Nightly report',
 *   grantType: 'client_credentials',
 *   permissions: ['view_schools'],
 * });
 * using acting = await actingAsClient(server, client);
 * const response = await fetch(`${server.origin}/api/v1/schools`);
 */
export function actingAsClient(
  server: AppUnderTest,
  client: Client,
  options?: ActingOptions,
): Promise<Acting>;
export function actingAsClient<P extends string, R extends string, S extends object>(
  ctx: ActingContext,
  client: Partial<Client>,
  options: ContextActingOptions<P, R, S>,
): ClientPrincipal<P, S>;
export function actingAsClient(
  target: AppUnderTest | ActingContext,
  given: Partial<Client>,
  options: ActingOptions | ContextActingOptions = {},
): Promise<Acting> | ClientPrincipal {
  if (!('state' in target)) {
    return actInApp(target, { ...(options as ActingOptions), client: given as Client });
  }
  checkNames(options, IN_CONTEXT, 'actingAsClient()');
  const client = clientOf(given, 'client_credentials');
  return actInContext(
    target,
    options,
    { type: 'client', user: undefined, client, credential: 'access_token' },
    client,
  );
}

const IN_CONTEXT: Readonly<Record<keyof ContextActingOptions, true>> = {
  gate: true,
  permissions: true,
  roles: true,
};

function clientOf(given: Partial<Client>, grantType: Client['grantType']): Client {
  checkNames(given, completeClient({}, grantType), 'client');
  return completeClient(given, grantType);
}

// The tokens of the users and clients that act in an app, in the order in which they began.
const actingIn = new WeakMap<KoaApp, Set<{ readonly token: string }>>();

async function actInApp({ app, auth }: Partial<AppUnderTest>, request: TokenRequest): Promise<Acting> {
  if (!app || !auth) {
    throw new ConfigError(
      'server',
      'pass { app, auth }, such as what testServer() returns, or a context with state',
    );
  }
  const acting = { token: await issueToken(auth, request) };
  const all = actingIn.get(app) ?? addTokens(app);
  all.add(acting);
  const stop = (): void => void all.delete(acting);
  return { stop, [Symbol.dispose]: stop };
}

/** Wraps `createContext()`, which Koa calls for each request, so that it works also for an app that listens already. */
function addTokens(app: KoaApp): Set<{ readonly token: string }> {
  const all = new Set<{ readonly token: string }>();
  actingIn.set(app, all);
  const createContext = app.createContext.bind(app);
  app.createContext = (request, response) => {
    const last = [...all].at(-1);
    if (last && takesToken(request)) request.headers.authorization = `Bearer ${last.token}`;
    return createContext(request, response);
  };
  return all;
}

function takesToken({ headers, url = '' }: IncomingMessage): boolean {
  return headers.authorization === undefined && !CLIENT_AUTHENTICATION.test(url);
}

// There the field would authenticate the client a second time (RFC 6749 section 2.3, RFC 7009, RFC 7662, RFC 9126).
const CLIENT_AUTHENTICATION = /\/oauth\/(?:token|revoke|introspect|par)(?:\?|$)/;

function actInContext<W extends PrincipalIdentity>(
  ctx: ActingContext,
  options: object,
  who: W,
  own: Assignment,
): W & PrincipalPermissions {
  if (!isContextOptions(options)) {
    throw new ConfigError('gate', 'with a context, pass the gate too: { gate, permissions }');
  }
  const { gate, permissions, roles } = options;
  const assignment = permissions || roles ? { permissions: permissions ?? [], roles: roles ?? [] } : own;
  checkDefined('permission', assignment.permissions, (name) => gate.has(name));
  checkDefined('role', assignment.roles, (name) => Object.hasOwn(gate.roles, name));
  const principal = makePrincipal(who, effectivePermissions(assignment, gate), { gate });
  setPrincipal(ctx.state, principal);
  return principal;
}

function isContextOptions(options: object): options is ContextActingOptions {
  return 'gate' in options;
}

/** Refuses unknown names, because a test with a misspelt one could pass for the wrong reason. */
function checkDefined(kind: string, names: readonly string[], isKnown: (name: string) => boolean): void {
  const unknown = names.find((name) => !isKnown(name));
  if (unknown !== undefined)
    throw new ConfigError(`${kind}s`, `there is no ${kind} "${unknown}"; correct it in the test`);
}
