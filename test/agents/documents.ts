import type { RequestListener } from 'node:http';

import type { ExecutionContext } from 'ava';
import { agents } from 'koa-gatehouse';
import type { AuthServerOptions } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { authorizeUrl, BOTH_SCOPES, completeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Mounting, Person, Platform, TokenAnswer } from '../harness/platform.ts';
import { json, ON_LOOPBACK, servePublic } from '../harness/public-server.ts';
import type { PublicServer } from '../harness/public-server.ts';
import type { ClientIdMetadata } from '../../lib/features/agents/options.ts';
import { endWith } from '../harness/serve.ts';
import type { Owner } from '../harness/serve.ts';

/** The site of an app that nobody registered, with its document. */
export interface Site extends PublicServer {
  /** The URL of the document: the id of the app. */
  readonly id: string;
  /** Members of the document, which replace those of the first. */
  document: Record<string, unknown>;
  /** Answers instead of the document, while it is set. */
  answer: RequestListener | undefined;
}

const CHALLENGE = pkce();

export const CALLBACK = 'https://agent.example/callback';

/** Serves the document of an app. */
export async function serveDocument(
  owner: Owner,
  document: Record<string, unknown> = {},
  { path = '/oauth/client.json', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Site> {
  const server = await servePublic((request, response) => {
    (site.answer ?? json(site.document, headers))(request, response);
  });
  endWith(owner, server);
  const id = server.origin + path;
  const site: Site = Object.assign(Object.create(server) as PublicServer, {
    id,
    document: { client_id: id, client_name: 'Agent', redirect_uris: [CALLBACK], ...document },
    answer: undefined,
  });
  return site;
}

type Options = Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', Person>>;

/** The options of a server that lets in the apps of `apps.example`, for a platform `ON_LOOPBACK`. */
export function documentOptions(
  given: ClientIdMetadata = {},
): Required<Pick<Options, 'features' | 'interactions' | 'scopes'>> {
  return {
    interactions: pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] }),
    scopes: BOTH_SCOPES,
    features: [agents({ documents: { scopes: ['schools:read'], ...given }, registration: false })],
  };
}

/** Starts a platform that such apps can connect to, until the test ends. */
export async function startWithDocuments(
  t: ExecutionContext,
  policy: ClientIdMetadata = {},
  options: Options = {},
  mounting?: Mounting,
): Promise<Platform> {
  const documents = documentOptions(policy);
  const platform = await startPlatform({ ...documents, ...options }, { ...ON_LOOPBACK, ...mounting });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  return platform;
}

/** In an app that takes the address of a request from `X-Forwarded-For`. */
export const BEHIND_PROXY: Mounting = {
  koa: { proxy: true },
};

/** An authorization request of an app, as a public client sends it. */
export function requestOf(platform: Platform, id: string, parameters: Record<string, string> = {}): URL {
  const app = { client: { id }, redirectUri: CALLBACK };
  return authorizeUrl(platform, app, { scope: 'schools:read', ...CHALLENGE.parameters, ...parameters });
}

/** Opens an authorization request and signs in, where it asks for that. Resolves to the consent page, or whatever comes instead. */
export async function askConsent(browser: Browser, url: URL, person?: [string, string]): Promise<Page> {
  const page = await browser.open(url);
  return page.html.includes('type="password"') ? signIn(browser, page, ...(person ?? [])) : page;
}

/**
 * The whole flow of an app: consent, code and tokens.
 *
 * @param options.authentication - the parameters by which the app authenticates. Left out: it is a public client
 */
export async function connect(
  platform: Platform,
  id: string,
  {
    authentication = async () => ({}),
    browser = new Browser(),
    parameters = {},
    person,
  }: {
    authentication?: () => Promise<Record<string, string>>;
    browser?: Browser;
    parameters?: Record<string, string>;
    person?: [string, string];
  } = {},
): Promise<TokenAnswer> {
  const callback = await completeFlow(browser, requestOf(platform, id, parameters), ...(person ?? []));
  const code = callback.searchParams.get('code');
  if (code === null) throw new Error(`No code, but: ${callback.href}`);
  return platform.token({
    grant_type: 'authorization_code',
    client_id: id,
    redirect_uri: parameters['redirect_uri'] ?? CALLBACK,
    code,
    code_verifier: CHALLENGE.verifier,
    ...(await authentication()),
  });
}

export async function refresh(platform: Platform, id: string, answer: TokenAnswer): Promise<TokenAnswer> {
  return platform.token({
    grant_type: 'refresh_token',
    client_id: id,
    refresh_token: answer.body.refresh_token,
  });
}
