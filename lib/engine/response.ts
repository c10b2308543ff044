import type { Context, Next } from 'koa';
import { errors } from 'oidc-provider';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';

import type { ClientAttempt, Limiter, Seconds } from '../contracts/index.ts';
import { StorageError, TooManyAttemptsError } from '../errors.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { assertionRefusal } from './client-assertion.ts';
import { requestOf } from './request.ts';
import type { EngineRequest } from './request.ts';

/** Completes the engine's response at an endpoint for clients, and counts a refused client. */
export async function completeResponse(
  ctx: KoaContextWithOIDC,
  request: EngineRequest,
  limiter: Limiter<ClientAttempt> | undefined,
): Promise<void> {
  if (isClientRefused(ctx)) await countGuess(ctx, request, limiter);
  const { failure } = request;
  // The engine has one answer to all failures, and no option for another (helpers/err_out.js).
  if (failure !== undefined && isUnavailable(failure)) return answerUnavailable(ctx);
  if (ctx.status === 200) request.endpoint.complete?.(ctx);
}

/** Whether client authentication failed (RFC 6749 section 5.2). */
function isClientRefused(ctx: KoaContextWithOIDC): boolean {
  const { error } = (ctx.body ?? {}) as { error?: unknown };
  return ctx.status === 401 && error === 'invalid_client';
}

/**
 * Counts a refused request that may have guessed a client secret, or that presents a wrong assertion. Successful requests are not
 * counted and read nothing from the storage.
 *
 * It runs after the engine has answered, because the engine refuses clients at many places (shared/client_auth.js), and its events
 * do not wait (shared/error_handler.js).
 */
async function countGuess(
  ctx: KoaContextWithOIDC,
  request: EngineRequest,
  limiter: Limiter<ClientAttempt> | undefined,
): Promise<void> {
  const { assertion, clientId = '', host } = request;
  try {
    const refusal = assertionRefusal(ctx);
    if (refusal) ctx.body = { ...(ctx.body as object), error_description: refusal.description };
    // Signed by the client, when it is replayed: it has repeated its request.
    if (!assertion?.isReplayed) await limiter?.take({ clientId, address: host.ip });
  } catch (error) {
    if (error instanceof TooManyAttemptsError) return answerTooManyAttempts(ctx, error);
    // An attempt that could not be counted is answered with 503, so that it does not reveal whether the guess was right.
    if (!(error instanceof StorageError)) throw error;
    request.failure = error;
  }
}

/** Answers a request that the storage cannot be reached for. */
export function answerUnavailable(ctx: Context): void {
  ctx.status = 503;
  ctx.set('Retry-After', '1');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'the server cannot reach its storage' };
}

/**
 * A client that failed to authenticate too often, made too many device authorization requests, or refreshed an authorization too often,
 * gets 429 (RFC 6585 section 4) with `Retry-After`. RFC 6749 section 5.2 has no code for that: `invalid_client` would mean that the
 * secret is wrong, but the secret was not compared. `temporarily_unavailable` is the code of the same RFC for a server that cannot answer
 * now (section 4.1.2.1).
 */
export class TooManyAttempts extends errors.CustomOIDCProviderError {
  override status = 429;
  override statusCode = 429;
  readonly retryAfter: Seconds;

  constructor({ retryAfter }: TooManyAttemptsError, what = 'attempts to authenticate this client') {
    super('temporarily_unavailable', `too many ${what}; try again in ${retryAfter} seconds`);
    this.retryAfter = retryAfter;
  }

  /** What the engine answers with instead of the error of a limit. Any other error stays as it is. */
  static instead(error: unknown, what?: string): unknown {
    return error instanceof TooManyAttemptsError ? new TooManyAttempts(error, what) : error;
  }
}

/** The same, when it is the server that has too much to do: 503. */
export class TooBusy extends TooManyAttempts {
  override status = 503;
  override statusCode = 503;
}

/** Replaces the engine's response with this refusal. */
function answerTooManyAttempts(ctx: KoaContextWithOIDC, cause: TooManyAttemptsError): void {
  const { error, error_description: description = '', retryAfter } = new TooManyAttempts(cause);
  requestOf(ctx).refused = { error, reason: description };
  ctx.set('Retry-After', String(retryAfter));
  ctx.remove('WWW-Authenticate');
  ctx.status = 429;
  ctx.body = { error, error_description: description };
}

/**
 * Sets the CORS header fields (Fetch standard) of the endpoints for clients. The token endpoint can be read from the origins of
 * a public client's redirect URIs, because an app that runs in the browser redeems its code itself. Confidential clients do not
 * run in browsers, and revocation and introspection are for servers, so no other response can be read. The metadata and the
 * keys are public; the engine allows every origin to read them.
 *
 * A preflight request names no client, so it is answered for each origin. It allows only what a form may send without a
 * preflight, and the JSON content type. When the host has set CORS header fields itself, they are left unchanged.
 */
export async function withCors(ctx: Context, next: Next): Promise<unknown> {
  // Koa's `response.headers` would copy them.
  if (ctx.res.getHeaderNames().some((name) => name.startsWith('access-control-'))) return next();
  const isReadable = requestOf(ctx).endpoint.readableFrom === 'origins of the client';
  const origin = ctx.get('Origin');
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204;
    ctx.set('Allow', 'POST, OPTIONS');
    if (isReadable) ctx.vary('Origin');
    if (isReadable && origin !== '') allowPreflight(ctx, origin);
    return undefined;
  }
  await next();
  // The engine sets its own fields before it knows the client.
  ctx.remove('Access-Control-Allow-Origin');
  ctx.remove('Access-Control-Expose-Headers');
  const client = 'oidc' in ctx ? (ctx as unknown as KoaContextWithOIDC).oidc.client : undefined;
  if (isReadable && isClientOrigin(client, origin)) ctx.set('Access-Control-Allow-Origin', origin);
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
