import type { Context, Next } from 'koa';
import type { Client } from 'oidc-provider';

import type { ClientAttempt, Limiter } from '../contracts/index.ts';
import { StorageError, TooManyAttemptsError } from '../errors.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { assertionRefusal } from './client-assertion.ts';
import { answerUnavailable, refuse, TooManyAttempts } from './refusals.ts';
import type { EngineRequest } from './request.ts';

/*
 * What is changed of the engine's responses, because it has no option for it. Each function names the engine's file. The context is the
 * engine's.
 */

/** What the corrections need of the server. */
export interface CorrectionParts {
  /** Of failed authentications. `undefined`: there is no limit. */
  readonly limiter: Limiter<ClientAttempt> | undefined;
  /** The metadata of the server, from what the engine announces. */
  readonly metadataOf: (announced: Readonly<Record<string, unknown>>) => Record<string, unknown>;
}

/** Completes a response of the engine, and counts a refused client. */
export async function correctResponse(
  request: EngineRequest,
  ctx: Context,
  { limiter, metadataOf }: CorrectionParts,
): Promise<void> {
  // The engine announces what this server does not offer, and its option adds members only (actions/discovery.js).
  if (request.oidc!.route === 'discovery') {
    ctx.body = metadataOf(ctx.body as Record<string, unknown>);
    return;
  }
  if (isClientRefused(ctx)) await countRefusedClient(request, ctx, limiter);
  // The engine has one answer to all failures (helpers/err_out.js).
  if (request.failure !== undefined && isUnavailable(request.failure)) {
    answerUnavailable(ctx);
    return;
  }
  const { adds } = request.endpoint;
  if (adds && ctx.status < 300) ctx.body = { ...(ctx.body as object), ...adds };
}

/** Whether client authentication failed (RFC 6749 section 5.2). */
function isClientRefused(ctx: Context): boolean {
  const { error } = (ctx.body ?? {}) as { error?: unknown };
  return ctx.status === 401 && error === 'invalid_client';
}

/**
 * Counts a refused request that may have guessed a client secret, or that presents a wrong assertion. Successful requests are not
 * counted and read nothing from the storage.
 *
 * It runs after the engine has answered, because the engine refuses clients at many places (shared/client_auth.js), and its events
 * do not wait (shared/error_handler.js). So the audit record of a request that gets 429 here says `invalid_client`, as the engine has
 * refused it, and the log what the client got.
 */
async function countRefusedClient(
  request: EngineRequest,
  ctx: Context,
  limiter: CorrectionParts['limiter'],
): Promise<void> {
  const { assertion, clientId = '', host } = request;
  try {
    const refusal = assertionRefusal(request);
    if (refusal) ctx.body = { ...(ctx.body as object), error_description: refusal.description };
    // Signed by the client, when it is replayed: it has repeated its request.
    if (!assertion?.isReplayed) await limiter?.take({ clientId, address: host.ip });
  } catch (error) {
    if (error instanceof TooManyAttemptsError) {
      answerTooManyAttempts(request, ctx, error);
      return;
    }
    // An attempt that could not be counted is answered with 503, so that it does not reveal whether the guess was right.
    if (!(error instanceof StorageError)) throw error;
    request.failure = error;
  }
}

function answerTooManyAttempts(request: EngineRequest, ctx: Context, cause: TooManyAttemptsError): void {
  const { error, error_description: reason = '', retryAfter, status } = new TooManyAttempts(cause);
  ctx.remove('WWW-Authenticate');
  ctx.set('Retry-After', String(retryAfter));
  refuse(request, ctx, { error, reason, status });
}

/**
 * The challenge to a client whose header field the engine did not get (see request-body.ts): it challenges only one whose field it sees
 * (shared/client_auth.js). RFC 6749 section 5.2 requires it of each client that has sent one.
 */
export function challengeBasic(ctx: Context, { engine }: EngineRequest): void {
  const { error, error_description: description } = ctx.body as Record<string, string>;
  const { issuer } = engine!.provider;
  ctx.set(
    'WWW-Authenticate',
    `Basic realm="${issuer}", error="${error}", error_description="${description}"`,
  );
}

/**
 * Drops the cookies that the engine sets at the authorization endpoint and this server does not use: those of an interaction
 * (actions/authorization/interactions.js), and that of a session that is not stored (shared/session.js). When the session or the consent
 * ended during the request, redirects the browser to the same URL.
 */
export function correctAuthorization({ engine, mustRestart, session }: EngineRequest, ctx: Context): void {
  const { provider } = engine!;
  const unwanted = [provider.cookieName('interaction'), provider.cookieName('resume')];
  if (!session || mustRestart) unwanted.push(provider.cookieName('session'));
  const cookies = [ctx.response.get('Set-Cookie') ?? []].flat();
  const kept = cookies.filter((cookie) => !unwanted.some((name) => cookie.startsWith(name)));
  if (kept.length < cookies.length) {
    if (kept.length > 0) ctx.set('Set-Cookie', kept);
    else ctx.remove('Set-Cookie');
  }
  if (!mustRestart) return;
  ctx.status = 303;
  ctx.redirect(provider.issuer + ctx.path + ctx.search);
}

/**
 * Sets the CORS header fields (Fetch standard) of the endpoints for clients. The engine allows each origin before it knows the client
 * (shared/cors.js), so its own fields are removed. The token endpoint can be read from the origins of
 * a public client's redirect URIs, because an app that runs in the browser redeems its code itself. Confidential clients do not
 * run in browsers, and revocation and introspection are for servers, so no other response can be read. The metadata and the
 * keys are public; the engine allows every origin to read them.
 *
 * A preflight request names no client, so it is answered for each origin. It allows only what a form may send without a
 * preflight, and the JSON content type. When the host has set CORS header fields itself, they are left unchanged.
 */
export async function withCors(request: EngineRequest, ctx: Context, next: Next): Promise<unknown> {
  // Koa's `response.headers` would copy them.
  if (ctx.res.getHeaderNames().some((name) => name.startsWith('access-control-'))) return next();
  const isReadable = request.endpoint.readableFrom === 'origins of the client';
  const origin = ctx.get('Origin');
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204;
    ctx.set('Allow', 'POST, OPTIONS');
    if (isReadable) ctx.vary('Origin');
    if (isReadable && origin !== '') allowPreflight(ctx, origin);
    return undefined;
  }
  await next();
  ctx.remove('Access-Control-Allow-Origin');
  ctx.remove('Access-Control-Expose-Headers');
  if (isReadable && isClientOrigin(request.oidc?.client, origin))
    ctx.set('Access-Control-Allow-Origin', origin);
  return undefined;
}

function allowPreflight(ctx: Context, origin: string): void {
  ctx.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'content-type',
    'Access-Control-Max-Age': '600',
  });
}

/** False for the origin `null` of sandboxed frames too: an https or http redirect URI never has an opaque origin. */
function isClientOrigin(client: Client | undefined, origin: string): boolean {
  if (client?.clientAuthMethod !== 'none' || origin === '') return false;
  return (
    client.redirectUris?.some((uri) => {
      const url = URL.parse(uri);
      return url !== null && WEB_PROTOCOLS.has(url.protocol) && url.origin === origin;
    }) ?? false
  );
}

const WEB_PROTOCOLS: ReadonlySet<string> = new Set(['https:', 'http:']);
