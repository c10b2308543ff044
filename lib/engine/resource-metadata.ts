import type { Context } from 'koa';

import type { Seconds } from '../contracts/duration.ts';
import { hasTooManyParameters, TOO_MANY_PARAMETERS } from '../http/query.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';

// The metadata changes with the options only.
const MAX_AGE: Seconds = 3600;

/**
 * Makes the function that answers requests for the metadata of an API (RFC 9728 section 3), and returns whether it has. Clients in
 * browsers of any origin can read it.
 *
 * The metadata of an API on the issuer's host is served whatever the `Host` header says, because a proxy may change it. That of
 * an API on another host is served when a proxy of that host passes the request on with its own host.
 *
 * @returns `undefined` without the option `resources`
 */
export function createResourceMetadata({
  issuer,
  origin,
  resources,
}: ResolvedOptions): ((ctx: Context) => boolean) | undefined {
  if (resources.get(issuer)?.metadataUrl === undefined) return undefined;
  const here = new Map<string, object>();
  const elsewhere = new Map<string, object>();
  for (const api of resources.values()) {
    const url = new URL(api.metadataUrl!);
    const path = withoutSlash(url.pathname);
    if (url.origin === origin) here.set(path, metadataOf(api, issuer));
    else elsewhere.set(url.host + path, metadataOf(api, issuer));
  }
  return function serveResourceMetadata(ctx) {
    // As at the API itself, users add a slash to its URL.
    const path = withoutSlash(ctx.path);
    const metadata = elsewhere.get(ctx.host + path) ?? here.get(path);
    if (!metadata) return false;
    answer(ctx, metadata);
    return true;
  };
}

function withoutSlash(path: string): string {
  return path.replace(/\/$/, '');
}

/** RFC 9728 section 2. */
function metadataOf({ name, resource, scopes }: ResolvedResource, issuer: string): object {
  return {
    resource,
    ...(name === resource ? {} : { resource_name: name }),
    authorization_servers: [issuer],
    ...(scopes.size > 0 ? { scopes_supported: [...scopes.keys()] } : {}),
    bearer_methods_supported: ['header'],
  };
}

function answer(ctx: Context, metadata: object): void {
  ctx.set('Access-Control-Allow-Origin', '*');
  if (hasTooManyParameters(ctx)) {
    ctx.status = 400;
    ctx.body = { error: 'invalid_request', error_description: TOO_MANY_PARAMETERS };
    return;
  }
  if (ctx.method === 'GET' || ctx.method === 'HEAD') {
    ctx.set('Cache-Control', `public, max-age=${MAX_AGE}`);
    ctx.body = metadata;
    return;
  }
  ctx.set('Allow', 'GET, HEAD, OPTIONS');
  if (ctx.method !== 'OPTIONS') {
    ctx.status = 405;
    return;
  }
  ctx.status = 204;
  // Some clients send header fields of their own, which need a preflight.
  ctx.set({
    'Access-Control-Allow-Methods': 'GET',
    'Access-Control-Allow-Headers': '*',
    'Access-Control-Max-Age': '600',
  });
}
