import { createHash, randomBytes, randomUUID } from 'node:crypto';

import type { Client, NewSecret, Seconds, User, UserStore } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { checkNames } from '../options/declare.ts';
import type { Decision, Decisions } from './decisions.ts';

/** A client as `auth.clients.create()` returns it. */
export interface RegisteredClient {
  readonly client: Client;
  /** `undefined` for a public one. */
  readonly secret: Pick<NewSecret, 'value'> | undefined;
}

/** The authorization request of a client. */
export interface AuthorizeOptions {
  /** @default [] */
  readonly scopes?: readonly string[];
  /**
   * Optional scopes that the user unchecks on the consent page, if there is one. Rejects when the page has no check box for one
   * of them.
   * @default []
   */
  readonly declinedScopes?: readonly string[];
  /** @default a random one */
  readonly state?: string;
  /** @default the first one of the client */
  readonly redirectUri?: string;
  /** More parameters of the authorization request, such as `prompt`. @default none */
  readonly parameters?: Readonly<Record<string, string>>;
}

const REQUEST: Readonly<Record<keyof AuthorizeOptions, true>> = {
  scopes: true,
  declinedScopes: true,
  state: true,
  redirectUri: true,
  parameters: true,
};

/** The result of an authorization request that a user has consented to. */
export interface Authorization {
  /** The redirect to the client, with `code`, `state` and `iss`: request it at the app under test. */
  readonly callback: URL;
  /** Valid for one exchange, within the server's `lifetimes.authorizationCode`. */
  readonly code: string;
  /** The client sends it with the code (RFC 7636). */
  readonly codeVerifier: string;
  /** Exchanges the code at the token endpoint. Rejects with the server's error when it issues no tokens. */
  readonly exchange: () => Promise<TokenResponse>;
}

/** The response of the token endpoint (RFC 6749 section 5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: Seconds;
  readonly refresh_token: string;
  /** The granted scopes, separated by spaces; absent when there are none. */
  readonly scope?: string;
}

/** The server under test and its users. */
interface TestSetup {
  readonly issuer: string;
  readonly users: Pick<UserStore, 'find'>;
  readonly decisions: Decisions;
}

/** Takes a user through login and consent, with the HTTP requests that a browser makes. */
export async function authorize(
  setup: TestSetup,
  registered: RegisteredClient,
  user: User,
  request: AuthorizeOptions,
): Promise<Authorization> {
  checkNames(request, REQUEST, 'authorize()');
  const { issuer } = setup;
  const codeVerifier = randomBytes(32).toString('base64url');
  const sent = await authorizationRequest(issuer, registered, request, codeVerifier);
  const callback = await followRedirects(sent, setup, {
    user,
    answer: 'consent',
    declined: request.declinedScopes ?? [],
  });
  const answer = Object.fromEntries(callback.searchParams);
  const { code } = answer;
  if (code === undefined) throw new Error(`The client was not authorized: ${describeError(answer)}`);
  const { client, secret } = registered;
  return {
    callback,
    code,
    codeVerifier,
    exchange: async () =>
      requestTokens(issuer, {
        grant_type: 'authorization_code',
        code,
        redirect_uri: sent.redirectUri,
        code_verifier: codeVerifier,
        client_id: client.id,
        ...(secret === undefined ? {} : { client_secret: secret.value }),
      }),
  };
}

/** Takes a user through login and denies consent. Resolves to the redirect to the client, with `error`. */
export async function deny(
  setup: TestSetup,
  registered: RegisteredClient,
  user: User,
  request: AuthorizeOptions,
): Promise<URL> {
  checkNames(request, REQUEST, 'deny()');
  const codeVerifier = randomBytes(32).toString('base64url');
  const { issuer } = setup;
  const sent = await authorizationRequest(issuer, registered, request, codeVerifier);
  return followRedirects(sent, setup, { user, answer: 'deny', declined: [] });
}

interface SentRequest {
  readonly url: URL;
  readonly redirectUri: string;
}

async function authorizationRequest(
  issuer: string,
  registered: RegisteredClient,
  request: AuthorizeOptions,
  codeVerifier: string,
): Promise<SentRequest> {
  const { client } = registered;
  const {
    parameters = {},
    redirectUri = client.redirectUris[0],
    scopes = [],
    state = randomUUID(),
  } = request;
  if (redirectUri === undefined) {
    throw new ConfigError(
      'client',
      'it has no redirect URI; pass a client with grantType "authorization_code"',
    );
  }
  const url = new URL(`${issuer}/oauth/authorize`);
  url.search = new URLSearchParams({
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: 'code',
    state,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...parameters,
  }).toString();
  return { url: await push(issuer, registered, url), redirectUri };
}

/** Pushes the request where the server takes that, because it may refuse others (RFC 9126). */
async function push(issuer: string, { client, secret }: RegisteredClient, url: URL): Promise<URL> {
  const metadata = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
  const server = (await metadata.json()) as Readonly<Record<string, string>>;
  const { pushed_authorization_request_endpoint: endpoint } = server;
  if (endpoint === undefined) return url;
  const body = new URLSearchParams(url.searchParams);
  if (secret !== undefined) body.set('client_secret', secret.value);
  const response = await fetch(endpoint, { method: 'POST', body });
  const answer = (await response.json()) as Record<string, string>;
  if (!response.ok) throw new Error(`The client was not authorized: ${describeError(answer)}`);
  const pushed = new URL(url);
  pushed.search = String(new URLSearchParams({ client_id: client.id, request_uri: answer['request_uri']! }));
  return pushed;
}

// More than enough for login and consent, with a redirect to the authorization endpoint after each.
const MAX_REDIRECTS = 10;

/** Follows the redirects of the server until one leads to the client. */
async function followRedirects(
  { redirectUri, url: start }: SentRequest,
  { decisions, users }: TestSetup,
  decision: Decision,
): Promise<URL> {
  if (!(await users.find(decision.user.id))) {
    throw new ConfigError('user', `users.find() does not find "${decision.user.id}"`);
  }
  using announced = decisions.announce(decision);
  const cookies = new CookieJar();
  let url = start;
  for (let redirects = 0; redirects < MAX_REDIRECTS; redirects += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...announced.headers, cookie: cookies.headerFor(url) },
    });
    cookies.store(response);
    const body = await response.text();
    const isRedirect = response.status >= 300 && response.status < 400;
    const location = isRedirect ? response.headers.get('location') : null;
    if (location === null) throw new Error(`${url.pathname} answered ${response.status}: ${body}`);
    url = new URL(location, url);
    if (url.href.split('?')[0] === new URL(redirectUri).href.split('?')[0]) return url;
  }
  throw new Error(`Too many redirects, the last one to ${url.pathname}`);
}

async function requestTokens(issuer: string, parameters: Record<string, string>): Promise<TokenResponse> {
  const response = await fetch(`${issuer}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(parameters),
  });
  const answer = (await response.json()) as TokenResponse & Record<string, string>;
  if (!response.ok) throw new Error(`The client got no tokens: ${describeError(answer)}`);
  return answer;
}

function describeError({ error = '', error_description: description = '' }: Record<string, string>): string {
  return `${error}, ${description}`;
}

/** The cookies of a browser for one server, by path (RFC 6265 section 5). */
class CookieJar {
  readonly #cookies = new Map<string, { readonly path: string; readonly pair: string }>();

  /** Stores the cookies that a response sets, and removes those that it expires. */
  store(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/; ?/);
      const path = valueOf(attributes, 'path') ?? '/';
      const expires = valueOf(attributes, 'expires');
      const key = `${pair.slice(0, pair.indexOf('='))} ${path}`;
      if (expires !== undefined && Date.parse(expires) <= Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, { path, pair });
    }
  }

  /** The `Cookie` header field of a request, the longest path first. */
  headerFor(url: URL): string {
    return [...this.#cookies.values()]
      .filter(({ path }) => isBelow(url.pathname, path))
      .toSorted((one, other) => other.path.length - one.path.length)
      .map(({ pair }) => pair)
      .join('; ');
  }
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

function valueOf(attributes: readonly string[], name: string): string | undefined {
  const prefix = `${name}=`;
  return attributes.find((one) => one.toLowerCase().startsWith(prefix))?.slice(prefix.length);
}
