import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import type {
  AuthServer,
  AuthServerOptions,
  Client,
  Gate,
  Logger,
  OpenIdOptions,
  User,
  UserStore,
} from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';
import type { WithPersonalTokens } from 'koa-gatehouse/types';
import type Koa from 'koa';
import type { Middleware } from 'koa';
import type { RequestListener } from 'node:http';

import { listen } from '../../lib/testing/test-server.ts';
import { Browser } from './browser.ts';
import { endWith, koaApp, listenerOf, serve } from './serve.ts';
import type { Owner } from './serve.ts';
import type { Page } from './browser.ts';
import { exchangeCode } from './tokens.ts';

type Permission = 'view_schools' | 'edit_schools';

export const gate: Gate<Permission, 'registrar'> = defineGate({
  permissions: { view_schools: 'View schools', edit_schools: 'Edit schools' },
  roles: { registrar: ['view_schools', 'edit_schools'] },
});

export interface Person extends User {
  readonly password: string;
  readonly permissions: readonly Permission[];
  readonly roles?: readonly string[];
}

/** Users whose passwords are checked here. */
export type PasswordStore = UserStore<Person> & Required<Pick<UserStore<Person>, 'verifyPassword'>>;

type People = PasswordStore & { readonly all: Person[] };

/** Three users: one with the permission to view schools, one without permissions, one with a role. */
export function people(): People {
  const all: Person[] = [
    {
      id: '1',
      name: 'Ann',
      email: 'ann@school.example',
      password: 'correct horse',
      permissions: ['view_schools'],
    },
    { id: '2', name: 'Bob', email: 'bob@school.example', password: 'battery staple', permissions: [] },
    {
      id: '3',
      name: 'Cleo',
      email: 'cleo@school.example',
      password: 'open sesame',
      permissions: [],
      roles: ['registrar'],
    },
  ];
  return {
    all,
    verifyPassword: async (login, password) =>
      all.find((one) => one.email === login && one.password === password),
    find: async (id) => all.find((one) => one.id === id),
    permissions: async (user) => user.permissions,
    roles: async (user) => user.roles ?? [],
  };
}

/** A logger that records its lines, for tests of the log. */
export function recordingLogger(): Logger & {
  readonly lines: { level: string; message: string; fields: object }[];
} {
  const lines: { level: string; message: string; fields: object }[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** To see schools and to change them. A platform that is given no scopes has the first. */
export const BOTH_SCOPES: Readonly<
  Record<'schools:read' | 'schools:write', { description: string; permissions: readonly Permission[] }>
> = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
};

/** How a platform is mounted in an app. */
export interface Mounting {
  /** The issuer's path, such as `/auth`. @default '' */
  readonly path?: string;
  /** Starts a proxy: receives the origin on which the platform listens, and returns the public origin. */
  readonly inFront?: (origin: string) => string | Promise<string>;
  /** The URL at which a URL of the public origin is answered. */
  readonly reach?: (url: URL) => URL;
  /** Creates the server. @default `createAuthServer` */
  readonly create?: typeof createAuthServer;
  /** Middleware of the host in front of the server. */
  readonly before?: Around;
  /** Middleware behind the server and its API. */
  readonly behind?: Around;
  /** The options of the API. */
  readonly api?: Omit<Parameters<typeof createApiRouter<Permission, Person>>[0], 'auth'>;
  /** Adds the routes of the API. @default `GET /schools`, for those who may view schools */
  readonly routes?: (api: AppParts['api'], auth: Platform['auth']) => unknown;
  /** The settings of Koa. */
  readonly koa?: KoaOptions;
  /** Creates another app. @default a Koa app with the server, its API and the middleware above */
  readonly app?: (parts: AppParts) => RequestListener | Promise<RequestListener>;
}

type Around =
  | readonly Middleware[]
  | ((parts: AppParts) => readonly Middleware[] | Promise<readonly Middleware[]>);

export interface AppParts {
  readonly auth: Platform['auth'];
  /** The API, not mounted yet. */
  readonly api: ReturnType<typeof createApiRouter<Permission, Person>>;
}

export interface Platform extends AsyncDisposable {
  /** The public origin. */
  readonly origin: string;
  /** A URL below the issuer. */
  url(path: string): URL;
  readonly reach: (url: URL) => URL;
  /** With the members of features that a test switches on. */
  readonly auth: AuthServer<typeof gate, Person> & WithPersonalTokens;
  readonly users: ReturnType<typeof people>;
  readonly logger: ReturnType<typeof recordingLogger>;
  /** Registers an app with the authorization code grant and one redirect URI. */
  registerApp(fields?: Partial<Parameters<AuthServer['clients']['create']>[0]>): Promise<RegisteredApp>;
  /** Registers a client-credentials app. */
  registerService(permissions?: readonly Permission[]): Promise<RegisteredApp>;
  /** Posts JSON to the token endpoint. */
  token(parameters: Record<string, unknown>): Promise<TokenAnswer>;
  /** Calls the API with a token. */
  api(
    path: string,
    token?: string,
  ): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }>;
}

/** A server that tests use, whoever has started it. */
export type RunningServer = Omit<Platform, 'users' | 'logger' | typeof Symbol.asyncDispose>;

export interface RegisteredApp {
  readonly client: Client;
  readonly secret: string;
  readonly redirectUri: string;
}

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    access_token: string;
    refresh_token: string;
    id_token?: string;
    token_type: string;
    expires_in: number;
    scope?: string;
    error?: string;
    error_description?: string;
  };
}

/** The options of a platform. */
export interface PlatformOptions extends Partial<AuthServerOptions<Permission, 'registrar', Person>> {
  /** The feature `openid()`, with its options, and `login.authenticationContext`. */
  readonly openid?:
    | boolean
    | (OpenIdOptions<Person> &
        Pick<
          NonNullable<AuthServerOptions<Permission, 'registrar', Person>['login']>,
          'authenticationContext'
        >);
}

/** The options of a server, for those of a platform. */
async function withOpenId({
  openid: asked = false,
  ...given
}: PlatformOptions): Promise<Partial<AuthServerOptions<Permission, 'registrar', Person>>> {
  if (asked === false) return given;
  // On demand, so that the other tests run without the folder of the feature.
  const { openid } = await import('koa-gatehouse');
  const { authenticationContext, ...options }: Exclude<typeof asked, boolean> = asked === true ? {} : asked;
  return {
    ...given,
    ...(authenticationContext && { login: { ...given.login, authenticationContext } }),
    features: [...(given.features ?? []), openid(options as OpenIdOptions)],
  };
}

/** Starts a school platform as `testServer()` does: pages, endpoints and API. */
export async function startPlatform(
  given: PlatformOptions = {},
  {
    path = '',
    inFront,
    reach,
    create = createAuthServer,
    before = [],
    behind = [],
    api: apiOptions,
    routes = schoolsRoute,
    koa = {},
    app = async (parts) =>
      bareApp(parts, {
        koa,
        before: await middlewareOf(before, parts),
        behind: await middlewareOf(behind, parts),
      }),
  }: Mounting = {},
): Promise<Platform> {
  const users = people();
  const logger = recordingLogger();
  let seen!: string;
  const { auth, close } = await listen<Permission, 'registrar', Person, object>(
    {
      users,
      storage: given.storage ?? memoryStorage(),
      interactions: pages({ brand: { name: 'Acme Schools' } }),
      gate,
      scopes: { 'schools:read': BOTH_SCOPES['schools:read'] },
      logger,
      async issuer(origin) {
        seen = (await inFront?.(origin)) ?? origin;
        return seen + path;
      },
    },
    {
      // Only now, because options may need the origin, which they know from `inFront`.
      create: async (options) => create({ ...options, ...((await withOpenId(given)) as object) }),
      async listener(created) {
        const api = createApiRouter({ auth: created, ...apiOptions });
        routes(api, created as Platform['auth']);
        return app({ auth: created as Platform['auth'], api });
      },
    },
  );
  return {
    ...platformOf(auth as Platform['auth'], { origin: seen, path, reach }),
    users,
    logger,
    [Symbol.asyncDispose]: close,
  };
}

const schoolsRoute: NonNullable<Mounting['routes']> = (api, auth) =>
  api.get('/schools', auth.requires('view_schools'), (ctx) => {
    ctx.body = { data: [{ id: 1, name: 'Hill School' }] };
  });

type KoaOptions = Pick<NonNullable<ConstructorParameters<typeof Koa>[0]>, 'maxIpsCount' | 'proxy'>;

async function middlewareOf(around: Around, parts: AppParts): Promise<readonly Middleware[]> {
  return typeof around === 'function' ? around(parts) : around;
}

/** The listener of an app with the server, its API, and what is around them. */
export function bareApp(
  { auth, api }: AppParts,
  {
    before = [],
    behind = [],
    koa = {},
  }: { readonly before?: readonly Middleware[]; readonly behind?: readonly Middleware[] } & Pick<
    Mounting,
    'koa'
  > = {},
): RequestListener {
  const app = koaApp(...before, auth.middleware(), api.routes() as Middleware, ...behind);
  return listenerOf(Object.assign(app, koa));
}

/** The functions with which tests use a running server. */
export function platformOf(
  auth: Platform['auth'],
  {
    origin,
    path,
    reach = (url) => url,
  }: { origin: string; path: string; reach?: Mounting['reach'] | undefined },
): RunningServer {
  const url = (below: string): URL => new URL(origin + path + below);

  async function register(fields: Parameters<AuthServer['clients']['create']>[0]): Promise<RegisteredApp> {
    const { client, secret } = await (auth as unknown as AuthServer).clients.create(fields);
    return { client, secret: secret?.value ?? '', redirectUri: client.redirectUris[0] ?? '' };
  }

  return {
    origin,
    url,
    reach,
    auth,
    registerApp: (fields = {}) =>
      register({
        name: 'Reports',
        grantType: 'authorization_code',
        redirectUris: ['https://reports.example/callback'],
        ...fields,
      }),
    registerService: (permissions = []) =>
      register({ name: 'Nightly', grantType: 'client_credentials', permissions }),
    async token(parameters) {
      const response = await fetch(reach(url('/oauth/token')), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(parameters),
      });
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as TokenAnswer['body'],
      };
    },
    async api(below, token) {
      const response = await fetch(reach(url(`/api/v1${below}`)), {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as Record<string, unknown>,
      };
    },
  };
}

/** Serves an app that makes its server itself, such as an example, without an end of that server. */
export async function serveHost(
  owner: Owner,
  make: (origin: string) => Promise<{ readonly app: Koa; readonly auth: object }>,
): Promise<RunningServer> {
  let auth!: object;
  const { origin } = endWith(
    owner,
    await serve(async (own) => {
      const made = await make(own);
      ({ auth } = made);
      return listenerOf(Object.assign(made.app, { silent: true }));
    }),
  );
  return platformOf(auth as Platform['auth'], { origin, path: '' });
}

/** What an authorization request says of an app. */
interface RequestingApp extends Pick<RegisteredApp, 'redirectUri'> {
  readonly client: Pick<Client, 'id'>;
}

export function authorizeUrl(
  platform: Pick<Platform, 'url'>,
  app: RequestingApp,
  parameters: Record<string, string> = {},
): URL {
  const url = platform.url('/oauth/authorize');
  url.search = String(
    new URLSearchParams({
      client_id: app.client.id,
      redirect_uri: app.redirectUri,
      response_type: 'code',
      scope: '',
      state: 'xyz',
      ...parameters,
    }),
  );
  return url;
}

/** Signs a user in on the login page. */
export async function signIn(
  browser: Browser,
  page: Page,
  person = 'ann@school.example',
  password = 'correct horse',
): Promise<Page> {
  return browser.follow(await browser.submit(page, 'Sign in', { login: person, password }));
}

/** A browser in which a user has signed in. */
export async function signedIn(
  platform: Pick<Platform, 'reach' | 'url'>,
  person?: string,
  password?: string,
  browser: Browser = new Browser(platform.reach),
): Promise<Browser> {
  await signIn(browser, await browser.open(platform.url('/oauth/login')), person, password);
  return browser;
}

/** Signs the user of a browser out, on the page that asks. */
export async function signOut(platform: Pick<Platform, 'url'>, browser: Browser): Promise<Page> {
  const page = await browser.submit(await browser.open(platform.url('/oauth/logout')), 'Sign out');
  if (page.status >= 400) throw new Error(page.text);
  return page;
}

/** Disconnects the first app on the page of connected apps. */
export async function disconnect(browser: Browser, apps: Page): Promise<Page> {
  const link = /href="([^"]+apps\/[^/"]+\/revoke)"/.exec(apps.html)?.[1];
  if (link === undefined) throw new Error(`No app to disconnect: ${apps.text}`);
  return browser.submit(await browser.open(new URL(link, apps.url)), 'Disconnect');
}

/** Whether a browser was redirected to an app with a code. */
export function hasCode({ location }: Page): boolean {
  return location?.searchParams.has('code') === true;
}

/** Takes a user from an authorization request through login and consent. Resolves to the URL at which the app gets the answer. */
export async function completeFlow(
  browser: Browser,
  url: string | URL,
  person?: string,
  password?: string,
): Promise<URL> {
  let page = await browser.open(url);
  if (page.html.includes('type="password"')) page = await signIn(browser, page, person, password);
  if (page.html.includes('Authorize</button>'))
    page = await browser.follow(await browser.submit(page, 'Authorize'));
  if (page.location === undefined) throw new Error(`No redirect to the app, but: ${page.text}`);
  return page.location;
}

/** The same for an app of the harness, and returns the parameters that it gets at its redirect URI. */
export async function authorize(
  platform: Pick<Platform, 'reach' | 'url'>,
  app: RequestingApp,
  {
    browser = new Browser(platform.reach),
    parameters = {},
    person,
    password,
  }: { browser?: Browser; parameters?: Record<string, string>; person?: string; password?: string } = {},
): Promise<URLSearchParams> {
  const url = authorizeUrl(platform, app, parameters);
  return (await completeFlow(browser, url, person, password)).searchParams;
}

/** The whole authorization code flow; returns the token response. */
export async function runCodeFlow(
  platform: Pick<Platform, 'reach' | 'token' | 'url'>,
  app: RegisteredApp,
  options: Parameters<typeof authorize>[2] = {},
): Promise<TokenAnswer> {
  const callback = await authorize(platform, app, options);
  return exchangeCode(platform, app, callback.get('code'));
}
