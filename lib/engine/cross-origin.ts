import type { Context, Middleware } from 'koa';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';

import { stateOf } from './request-state.ts';

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
  const { endpoint } = stateOf(ctx);
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
