import { createHash, randomBytes } from 'node:crypto';

import { Pool } from 'undici';

import { GUARDED_ROUTE, REDIRECT_URI, SCOPE } from '../protocol.ts';
import type { Listening, Registered } from '../protocol.ts';
import { Cookies } from './cookies.ts';
import { readForm } from './form.ts';

interface Settings {
  readonly connections: number;
  /** The encoding of token requests. @default 'form' */
  readonly encoding?: 'json' | undefined;
  /** The path of the route with the schools. @default GUARDED_ROUTE */
  readonly route?: string | undefined;
}

interface Sent {
  readonly status: number;
  readonly location: string | undefined;
  readonly setCookie: string | string[] | undefined;
  readonly text: string;
}

/** An authorization code and its verifier. */
export interface Code {
  readonly code: string;
  readonly verifier: string;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** An OAuth client that sends requests to a contestant over a fixed number of connections. */
export class OAuthClient implements AsyncDisposable {
  readonly registered: Registered;
  readonly #origin: string;
  readonly #pool: Pool;
  readonly #settings: Settings;

  constructor({ origin, registered }: Listening, settings: Settings) {
    this.registered = registered;
    this.#origin = origin;
    this.#pool = new Pool(origin, { connections: settings.connections, pipelining: 1 });
    this.#settings = settings;
  }

  /** Gets a token by client credentials (RFC 6749 section 4.4). */
  async clientCredentials(): Promise<string> {
    const { id, secret, parameters } = this.registered.service;
    const { access_token: token } = await this.#token({
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: secret,
      scope: SCOPE,
      ...parameters,
    });
    return token;
  }

  /** Gets a code with the cookies of a browser; submits the login and consent forms that are shown. */
  async authorize(cookies: Cookies, login: string): Promise<Code> {
    const verifier = randomBytes(32).toString('base64url');
    let next = this.#authorizationPath(verifier);
    for (let hops = 0; hops < 12; hops += 1) {
      const answer = await this.#open(next, cookies);
      let location = answer.location;
      if (location === undefined) {
        const { action, fields } = readForm(answer.text);
        if ('login' in fields) Object.assign(fields, { login, password: 'correct horse' });
        location = (await this.#submit(this.#pathOf(action), fields, cookies)).location ?? action;
      }
      if (location.startsWith(REDIRECT_URI)) return { code: codeOf(location), verifier };
      next = this.#pathOf(location);
    }
    throw new Error(`No redirect to the app after ${next}`);
  }

  async exchange({ code, verifier }: Code): Promise<Tokens> {
    const { id, secret, parameters } = this.registered.app;
    return this.#rotating({
      grant_type: 'authorization_code',
      client_id: id,
      client_secret: secret,
      redirect_uri: REDIRECT_URI,
      code,
      code_verifier: verifier,
      ...parameters,
    });
  }

  async refresh(refreshToken: string): Promise<Tokens> {
    const { id, secret, parameters } = this.registered.app;
    return this.#rotating({
      grant_type: 'refresh_token',
      client_id: id,
      client_secret: secret,
      refresh_token: refreshToken,
      ...parameters,
    });
  }

  /** Reads the schools with an access token; returns the body. */
  async schools(token: string): Promise<string> {
    const path = this.#settings.route ?? GUARDED_ROUTE;
    const { status, text } = await this.#send('GET', path, { authorization: `Bearer ${token}` });
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
    return text;
  }

  /** A document, printed. */
  async letter(): Promise<void> {
    const { status, text } = await this.#send('GET', '/letter', {});
    if (status !== 200 || !text.startsWith('%PDF-')) throw new Error(`GET /letter: ${status} ${text}`);
  }

  async post(path: string, token: string, body: string): Promise<string> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const { status, text } = await this.#send('POST', path, headers, body);
    if (status !== 200) throw new Error(`POST ${path}: ${status} ${text}`);
    return text;
  }

  async #rotating(parameters: Record<string, string>): Promise<Tokens> {
    const tokens = await this.#token(parameters);
    if (!tokens.refresh_token) throw new Error('There is no refresh token in the response');
    return tokens;
  }

  async #token(parameters: Record<string, string>): Promise<Tokens> {
    const [type, body] =
      this.#settings.encoding === 'json'
        ? ['application/json', JSON.stringify(parameters)]
        : ['application/x-www-form-urlencoded', String(new URLSearchParams(parameters))];
    const { status, text } = await this.#send('POST', '/oauth/token', { 'content-type': type }, body);
    if (status !== 200) throw new Error(`POST /oauth/token: ${status} ${text}`);
    const tokens = JSON.parse(text) as Tokens;
    const isSigned = tokens.access_token.split('.').length === 3;
    if (isSigned === Boolean(this.registered.opaque))
      throw new Error(`This is another kind of token: ${text}`);
    return tokens;
  }

  #authorizationPath(verifier: string): string {
    const { id, scope = SCOPE, parameters } = this.registered.app;
    const query = new URLSearchParams({
      client_id: id,
      redirect_uri: REDIRECT_URI,
      response_type: 'code',
      scope,
      state: 'xyz',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...parameters,
    });
    return `/oauth/authorize?${String(query)}`;
  }

  async #open(path: string, cookies: Cookies): Promise<Sent> {
    const headers = { accept: 'text/html', ...cookies.headerFor(path) };
    const answer = await this.#send('GET', path, headers);
    if (answer.status >= 400) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`);
    cookies.store(answer.setCookie);
    return answer;
  }

  async #submit(path: string, fields: Record<string, string>, cookies: Cookies): Promise<Sent> {
    const headers = {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      origin: this.#origin,
      'sec-fetch-site': 'same-origin',
      ...cookies.headerFor(path),
    };
    const answer = await this.#send('POST', path, headers, String(new URLSearchParams(fields)));
    if (answer.status >= 400) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
    cookies.store(answer.setCookie);
    return answer;
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body: string | null = null,
  ): Promise<Sent> {
    const {
      statusCode,
      headers: received,
      body: content,
    } = await this.#pool.request({
      method,
      path,
      headers,
      body,
    });
    const { location } = received;
    return {
      status: statusCode,
      location: typeof location === 'string' ? location : undefined,
      setCookie: received['set-cookie'],
      text: await content.text(),
    };
  }

  #pathOf(location: string): string {
    const { pathname, search } = new URL(location, this.#origin);
    return pathname + search;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
  }
}

function codeOf(location: string): string {
  const code = new URL(location).searchParams.get('code');
  if (code === null) throw new Error(`There is no code in ${location}`);
  return code;
}
