import type { Client, Finding } from '../../contracts/index.ts';
import { GatehouseError } from '../../errors.ts';
import { failure, warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import type { CheckedServer } from './check.ts';
import { describeProbe, documentOf, jsonIn, probe } from '../../findings/probe.ts';
import type { Document, ProbeResult } from '../../findings/probe.ts';

const WELL_KNOWN = '/.well-known/oauth-authorization-server';

/**
 * Checks the server at its issuer over the network, because the proxies in front of it can break it as much as its
 * configuration can. Sends an authorization request of one of the clients, which stores nothing, and a logout without a
 * session.
 */
export async function* checkIssuer(server: CheckedServer): Findings {
  const { issuer } = server;
  if (issuer === undefined) return;
  const metadata = yield* checkMetadata(issuer);
  for (const examine of server.examine) yield* examine(issuer);
  if (!metadata) return;
  const jwksUri = String(metadata['jwks_uri']);
  // The JWK Set needs no authentication, so it shows that the endpoints can be reached at the URLs of the metadata.
  const keys = await probe(jwksUri);
  if (!('status' in keys) || keys.status !== 200) {
    yield failure(
      'endpoints_unreachable',
      `The server's public keys are not at ${jwksUri}, the jwks_uri of its metadata: ${describeProbe(keys)}.`,
      'Let the proxy pass /oauth/ to the server; if it removes the path of the issuer, set the option paths.mount.',
    );
    return;
  }
  yield* checkPosts(String(metadata['token_endpoint']));
  yield* checkAuthorization(server, issuer, metadata['authorization_endpoint'] as string);
  yield* checkCookies(issuer);
}

/** Returns the metadata; `undefined` when there is something wrong with it. */
async function* checkMetadata(issuer: string): AsyncGenerator<Finding, Document | undefined> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  // RFC 8414 section 3.1 puts the issuer's path after the well-known path.
  const standard = `${origin}${WELL_KNOWN}${path}`;
  const answer = await probe(standard);
  const found = metadataIn(answer);
  const metadata = found ?? (path === '' ? undefined : metadataIn(await probe(issuer + WELL_KNOWN)));
  if (!metadata) {
    yield noMetadata(standard, answer);
    return undefined;
  }
  if (!found) {
    yield warning(
      'metadata_misplaced',
      `Clients look for the server's metadata at ${standard} (RFC 8414), but it is only at ${issuer}${WELL_KNOWN}.`,
      'Let the proxy pass that path to the server too.',
    );
  }
  const wrong = compareMetadata(issuer, metadata);
  if (wrong) yield wrong;
  return wrong ? undefined : found;
}

function metadataIn(answer: ProbeResult): Document | undefined {
  const document = documentOf(answer);
  return document && 'issuer' in document ? document : undefined;
}

function noMetadata(url: string, answer: ProbeResult): Finding {
  if ('failure' in answer) {
    return failure(
      'issuer_unreachable',
      `Nothing answers at ${url}: ${answer.failure}.`,
      'Start the server, and check that its host name, port, certificate and proxy can be reached from this machine.',
    );
  }
  const { location, status } = answer;
  return failure(
    'metadata_missing',
    `${url} is not the metadata of an authorization server: the response was ${status}${location ? ` to ${location}` : ''}.`,
    'Mount auth.middleware(), with the call, in front of static files, a fallback page and other routes, and let the proxy pass /oauth/ and /.well-known/ to it; with a path in the issuer, see the option paths.mount.',
  );
}

function compareMetadata(issuer: string, metadata: Document): Finding | undefined {
  if (metadata['issuer'] !== issuer) {
    return failure(
      'issuer_differs',
      `The server at ${issuer} has another issuer in its metadata: ${String(metadata['issuer'])}.`,
      'Pass the public URL to createAuthServer() as issuer; behind a proxy, the URL of the proxy.',
    );
  }
  const elsewhere = Object.entries(metadata).filter(
    ([name, url]) => /_endpoint$|^jwks_uri$/.test(name) && !String(url).startsWith(`${issuer}/`),
  );
  if (elsewhere.length === 0 && typeof metadata['authorization_endpoint'] === 'string') return undefined;
  const named = elsewhere.map(([name, url]) => `${name} ${String(url)}`).join(', ') || 'none at all';
  return failure(
    'endpoints_elsewhere',
    `The server at ${issuer} has endpoints in its metadata with another scheme, host or path: ${named}.`,
    'Check that no proxy changes them.',
  );
}

/** Checks that posts reach the server, and its answers the client: to a request without parameters it is an error in JSON. */
async function* checkPosts(endpoint: string): Findings {
  const answer = await probe(endpoint, 'POST');
  if ('failure' in answer || 'error' in (jsonIn(answer.body) ?? {})) return;
  yield failure(
    'posts_answered_by_others',
    `A post to ${endpoint} is not answered by the server: the response was ${answer.status}, and not an error in JSON.`,
    'Mount auth.middleware() in front of middleware that checks CSRF tokens, whose check the forms of its pages do not need; let an error handler of the app pass on responses that have a body.',
  );
}

async function* checkAuthorization(server: CheckedServer, issuer: string, endpoint: string): Findings {
  const client = await findAuthorizationCodeClient(server);
  if (!client) return;
  const answer = await probe(authorizationRequest(endpoint, client));
  if ('failure' in answer || answer.status >= 500) {
    yield failure(
      'authorization_fails',
      `An authorization request to ${endpoint} fails: ${describeProbe(answer)}.`,
      'Read the logs of the server and of the proxy.',
    );
  } else if (!isInteraction(answer.location, issuer)) {
    yield warning(
      'authorization_unanswered',
      `An authorization request of "${client.name}" to ${endpoint} was answered with ${answer.status} and does not lead to the login page.`,
      'Check that the server uses the same database as this command, and that the proxy does not rewrite Location.',
    );
  }
}

function isInteraction(location: string | null, issuer: string): boolean {
  const url = location === null ? null : URL.parse(location, issuer);
  return url?.href.startsWith(`${issuer}/oauth/interaction/`) === true;
}

/** Checks the session cookie that a logout sets. The pages of the host may have no such logout, which is not reported. */
async function* checkCookies(issuer: string): Findings {
  const endpoint = `${issuer}/oauth/logout`;
  const answer = await probe(endpoint, 'POST');
  if ('failure' in answer) return;
  if (answer.status === 403 || answer.status === 419) {
    yield failure(
      'forms_refused',
      `A form that is posted to ${endpoint} is refused with ${answer.status} before it reaches the server, so users cannot sign in.`,
      'Mount auth.middleware() in front of middleware that checks CSRF tokens: the forms of its pages have none, and the server checks their origin itself.',
    );
    return;
  }
  if (answer.status !== 200) return;
  const insecure = answer.cookies.filter((cookie) => !/;\s*secure/i.test(cookie));
  if (answer.cookies.length === 0) {
    yield failure(
      'cookies_lost',
      `The response of ${endpoint} has no cookie, so users cannot sign in.`,
      'Check that the proxy passes Set-Cookie on.',
    );
  } else if (insecure.length > 0 && issuer.startsWith('https:')) {
    yield failure(
      'cookies_insecure',
      `Cookies of ${endpoint} lack the attribute Secure: ${insecure.map(cookieName).join(', ')}.`,
      'Check that the proxy does not rewrite Set-Cookie.',
    );
  }
}

async function findAuthorizationCodeClient({ storage }: CheckedServer): Promise<Client | undefined> {
  try {
    const page = await storage.clients.list({});
    return page.find(({ disabled, grantType }) => !disabled && grantType === 'authorization_code');
  } catch (error) {
    // The checks of the storage have reported this error, and the remaining checks of the server do not need a client.
    if (error instanceof GatehouseError) return undefined;
    throw error;
  }
}

function authorizationRequest(endpoint: string, { id, redirectUris }: Client): string {
  const url = new URL(endpoint);
  url.search = new URLSearchParams({
    client_id: id,
    response_type: 'code',
    redirect_uri: redirectUris[0] ?? '',
    // The S256 challenge of RFC 7636, appendix B. Its verifier is public, which is safe because the request issues no code.
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }).toString();
  return url.href;
}

function cookieName(cookie: string): string {
  return cookie.slice(0, cookie.indexOf('='));
}
