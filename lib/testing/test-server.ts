import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import Koa from 'koa';
import { createApiRouter, createAuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { Gate, User, UserStore } from '../contracts/index.ts';
import type { AuthServerOptions } from '../options/options.ts';
import type { AuthServer } from '../server/auth-server.ts';
import type { KoaApp } from './acting.ts';
import { authorize, deny } from './authorize.ts';
import type { Authorization, AuthorizeOptions, RegisteredClient } from './authorize.ts';
import { createDecisions } from './decisions.ts';

/** Options of `testServer()`: those of `createAuthServer()`, all optional. */
export interface TestServerOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
  S extends object = object,
> extends Partial<Omit<AuthServerOptions<P, R, U, S>, 'issuer' | 'users'>> {
  /**
   * The issuer of a server below a path or behind a proxy, or what makes it from the origin that the server listens on:
   * `(origin) => origin + '/auth'`. @default the origin
   */
  readonly issuer?: string | ((origin: string) => string | Promise<string>);
  /** A user store, or a list of users with their roles and permissions, who log in with any password. @default [] */
  readonly users?: UserStore<U> | readonly TestUser<P, R, U>[];
  /** Creates the app under test. @default an app with the server and the API, without other routes */
  readonly app?: (auth: AuthServer<Gate<P, R, S>, U>) => KoaApp | Promise<KoaApp>;
}

/** A running server for one test or one test file. */
export interface TestServer<G extends Gate = Gate, U extends User = User> extends AsyncDisposable {
  /** Its origin, such as `http://127.0.0.1:41234`, on a free port of this machine. */
  readonly origin: string;
  readonly auth: AuthServer<G, U>;
  /** The app under test. */
  readonly app: KoaApp;
  /**
   * Takes a user through login and consent, with the requests that a browser makes, and resolves to the authorization that the
   * client receives. Rejects with the server's error when the client is not authorized.
   */
  readonly authorize: (
    registered: RegisteredClient,
    user: User,
    request?: AuthorizeOptions,
  ) => Promise<Authorization>;
  /** The same for a user who denies consent: resolves to the redirect to the client, with `error` and `state`. */
  readonly deny: (registered: RegisteredClient, user: User, request?: AuthorizeOptions) => Promise<URL>;
  /** Stops listening, closes open connections and closes the server; `await using` does it too. */
  readonly close: () => Promise<void>;
}

/**
 * Starts an authorization server with memory storage on a free loopback port, in the app under test. Users need no browser:
 * `authorize()` makes their requests.
 *
 * @throws ConfigError as `createAuthServer()` does
 *
 * @example
 * import { testServer } from 'koa-gatehouse/testing';
 * await using server = await testServer({ gate, users: [ann], app: (auth) => createApp(auth) });
 * const reports = await server.auth.clients.create({
 *   name: 'Reports',
 *   grantType: 'authorization_code',
 *   redirectUris: ['https://reports.example/callback'],
 * });
 * const { exchange } = await server.authorize(reports, ann, { scopes: ['schools:read'] });
 * const { access_token } = await exchange();
 */
export async function testServer<P extends string, R extends string, U extends User, S extends object>(
  options: TestServerOptions<P, R, U, S> = {},
): Promise<TestServer<Gate<P, R, S>, U>> {
  const { app: makeApp = defaultApp, interactions, users: people = [], ...rest } = options;
  const users = isList(people) ? testUsers(people) : people;
  const decisions = createDecisions(interactions);
  let app!: KoaApp;
  const { auth, close, origin } = await listen<P, R, U, S>(
    { ...rest, users, interactions: decisions.interactions },
    {
      create: createAuthServer,
      async listener(created) {
        app = await makeApp(created);
        return app.callback();
      },
    },
  );
  const setup = { issuer: auth.issuer, decisions, users };
  return {
    origin,
    auth,
    app,
    authorize: async (registered, user, request = {}) => authorize(setup, registered, user, request),
    deny: async (registered, user, request = {}) => deny(setup, registered, user, request),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Creates a server with memory storage, and serves its app on a free loopback port. */
export async function listen<P extends string, R extends string, U extends User, S extends object>(
  {
    issuer = (origin: string) => origin,
    storage = memoryStorage(),
    ...options
  }: Omit<TestServerOptions<P, R, U, S>, 'app' | 'users'> & { readonly users: UserStore<U> },
  {
    create,
    listener,
  }: {
    readonly create: typeof createAuthServer;
    readonly listener: (auth: AuthServer<Gate<P, R, S>, U>) => RequestListener | Promise<RequestListener>;
  },
): Promise<Pick<TestServer<Gate<P, R, S>, U>, 'auth' | 'close' | 'origin'>> {
  await storage.migrate();
  // Longer than a busy machine lets this process wait: Node would close a connection at the moment when the client uses it again.
  const server = createServer({ keepAliveTimeout: 60_000 }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stopListening = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  try {
    const identity = typeof issuer === 'string' ? issuer : await issuer(origin);
    const auth = await create<P, R, U, S>({ ...options, issuer: identity, storage });
    server.on('request', await listener(auth));
    const close = async (): Promise<void> => {
      await stopListening();
      await auth.close();
    };
    return { origin, auth, close };
  } catch (error) {
    await stopListening();
    throw error;
  }
}

function defaultApp(auth: AuthServer): Koa {
  const app = new Koa();
  app.use(auth.middleware());
  app.use(createApiRouter({ auth }).routes());
  return app;
}

function isList<P extends string, R extends string, U extends User>(
  users: UserStore<U> | readonly TestUser<P, R, U>[],
): users is readonly TestUser<P, R, U>[] {
  return Array.isArray(users);
}

/** A user of a test server, with roles and permissions. */
export type TestUser<P extends string = string, R extends string = string, U extends User = User> = U & {
  /** Permissions in addition to those of the roles. @default [] */
  readonly permissions?: readonly NoInfer<P>[];
  /** @default [] */
  readonly roles?: readonly NoInfer<R>[];
};

/** A user store of a list of users. They log in by id or email, with any password. */
function testUsers<U extends User>(people: readonly TestUser<string, string, U>[]): UserStore<U> {
  const assignments = new Map(
    people.map(({ id, permissions = [], roles = [] }) => [id, { permissions, roles }]),
  );
  return {
    verifyPassword: async (login) => people.find(({ email, id }) => login === email || login === id),
    find: async (id) => people.find((one) => one.id === id),
    permissions: async ({ id }) => assignments.get(id)?.permissions ?? [],
    roles: async ({ id }) => assignments.get(id)?.roles ?? [],
  };
}
