import type { Context, Middleware } from 'koa';
import { errors } from 'oidc-provider';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';

import { StorageError } from '../errors.ts';
import type { TooManyAttemptsError } from '../errors.ts';
import { isGrantTypeRefused } from './request-facts.ts';
import { requestOf } from './engine-request.ts';

/** Completes what the engine answered at an endpoint for clients. */
export function completeResponse(ctx: KoaContextWithOIDC): void {
  const { credential, outcome } = requestOf(ctx);
  if (outcome.failure instanceof StorageError) return sayUnavailable(ctx);
  const retryAfter = outcome.oauthError?.retryAfter;
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  // RFC 7009 leaves the body open; clients that read every answer as JSON fail over none at all.
  if (ctx.oidc.route === 'revocation' && ctx.status === 200) ctx.body = {};
  if (ctx.oidc.route !== 'token') return;
  if (ctx.status !== 200) return sayUnauthorizedClient(ctx);
  if (credential?.successor !== undefined) {
    ctx.body = { ...(ctx.body as object), refresh_token: credential.successor };
  }
}

function sayUnavailable(ctx: KoaContextWithOIDC): void {
  ctx.status = 503;
  ctx.set('Retry-After', '1');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'the server cannot reach its storage' };
}

/** The engine calls a grant type that is not the client's `invalid_request`; RFC 6749 section 5.2 has a code for it. */
function sayUnauthorizedClient(ctx: KoaContextWithOIDC): void {
  if (!isGrantTypeRefused(ctx)) return;
  ctx.body = { error: 'unauthorized_client', error_description: 'this client may not use this grant type' };
}

/*
 * What a client is told that has failed to authenticate too often: 429 (RFC 6585 section 4) with `Retry-After`. None of the
 * codes of RFC 6749 section 5.2 says that. `invalid_client` would tell a client that its secret is wrong, which nobody has
 * looked at; `temporarily_unavailable` is what the same RFC has for servers that cannot answer for now (section 4.1.2.1).
 */

/** The error that makes the engine say so. */
export class TooManyAttempts extends errors.CustomOIDCProviderError {
  override status = 429;
  override statusCode = 429;
  /** In seconds. */
  readonly retryAfter: number;

  constructor({ retryAfter }: TooManyAttemptsError) {
    const { error, error_description: description } = bodyOf(retryAfter);
    super(error, description);
    this.retryAfter = retryAfter;
  }
}

/** Says so in place of what the engine has answered. */
export function sayTooManyAttempts(ctx: KoaContextWithOIDC, { retryAfter }: TooManyAttemptsError): void {
  const body = bodyOf(retryAfter);
  requestOf(ctx).outcome.refuse({ error: body.error, reason: body.error_description, retryAfter });
  ctx.remove('WWW-Authenticate');
  ctx.status = 429;
  ctx.body = body;
}

function bodyOf(retryAfter: number): { readonly error: string; readonly error_description: string } {
  return {
    error: 'temporarily_unavailable',
    error_description: `too many attempts to authenticate this client; try again in ${retryAfter} seconds`,
  };
}

/**
 * Decides which pages of other origins may read what the endpoints for clients answer (the CORS protocol of the Fetch
 * standard). The token endpoint can be read from the origins of a public client's redirect URIs: an app that runs in the
 * browser redeems its code itself. Nothing else can: an app with a secret has no business in a browser, and revocation
 * and introspection are for servers. The metadata and the keys are public; the engine lets every page read them.
 *
 * A preflight names no client, so it is answered to every origin. It allows no more than a form may send without asking,
 * and the JSON content type. Where the host has set such headers itself, they are left alone.
 */
export const answerOtherOrigins: Middleware = async (ctx, next) => {
  if (isDecided(ctx)) return next();
  const { endpoint } = requestOf(ctx);
  const origin = ctx.get('Origin');
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204;
    ctx.set('Allow', 'POST, OPTIONS');
    if (endpoint === 'token') ctx.vary('Origin');
    if (endpoint === 'token' && origin !== '') allowPreflight(ctx, origin);
    return undefined;
  }
  await next();
  // The engine's own, which it sets before it knows the client.
  ctx.remove('Access-Control-Allow-Origin');
  ctx.remove('Access-Control-Expose-Headers');
  if (endpoint === 'token' && isOwnOrigin(clientOf(ctx), origin)) {
    ctx.set('Access-Control-Allow-Origin', origin);
  }
  return undefined;
};

function allowPreflight(ctx: Context, origin: string): void {
  ctx.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'content-type',
    'Access-Control-Max-Age': '600',
  });
}

function isDecided(ctx: Context): boolean {
  return Object.keys(ctx.response.headers).some((name) => name.startsWith('access-control-'));
}

function clientOf(ctx: Context): Client | undefined {
  return 'oidc' in ctx ? (ctx as unknown as KoaContextWithOIDC).oidc.client : undefined;
}

/** Also false for `null`, the origin of sandboxed frames, since no redirect URI of a client has one that is opaque. */
function isOwnOrigin(client: Client | undefined, origin: string): boolean {
  if (client?.clientAuthMethod !== 'none' || origin === '') return false;
  return (
    client.redirectUris?.some((uri) => {
      const url = URL.parse(uri);
      return url !== null && WEB.has(url.protocol) && url.origin === origin;
    }) ?? false
  );
}

const WEB: ReadonlySet<string> = new Set(['https:', 'http:']);
