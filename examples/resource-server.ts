/**
 * A resource server in a separate process. It verifies access tokens with the published keys, and introspects them to learn
 * whether they were revoked. It knows the issuer and has a client with the permission `introspect_tokens`, which allows it to
 * introspect the tokens of other clients. With RESOURCE, a URL in the option `resources` of the authorization server, it accepts
 * tokens for that API only, and says at that host where clients get them (RFC 9728).
 *
 * In a checkout, and copied into your project:
 *
 *     ISSUER=… CLIENT_ID=… CLIENT_SECRET=… npx node --conditions=gatehouse:source examples/resource-server.ts
 *     ISSUER=… CLIENT_ID=… CLIENT_SECRET=… node resource-server.ts
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';

import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import Koa from 'koa';
import type { Middleware } from 'koa';

/** The authorization server, and the credentials with which this resource server introspects tokens. */
export interface Issuer {
  /** The authorization server's URL, without a slash at the end. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The URL of this API in the option `resources` of the authorization server. @default the issuer, the default API */
  readonly resource?: string | undefined;
}

// How long a revoked token may still be accepted, in milliseconds.
const LAG = 5000;
const MOST_CACHED = 10_000;

const UNREADABLE_KEYS = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT']);

/** Creates a middleware that requires a valid access token and sets `ctx.state.claims`. */
export function checkTokens({ clientId, clientSecret, issuer, resource }: Issuer): Middleware {
  // Fetches the keys once, and again when a token names an unknown one.
  const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks`));
  const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const metadata = resource === undefined ? '' : `resource_metadata="${metadataUrl(resource).href}"`;
  const activeUntil = new Map<string, number>();

  async function isActive(token: string): Promise<boolean> {
    // The cache has hashes, so that a memory dump contains no usable token.
    const key = createHash('sha256').update(token).digest('base64url');
    if ((activeUntil.get(key) ?? 0) > Date.now()) return true;
    const response = await fetch(`${issuer}/oauth/introspect`, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ token }),
      signal: AbortSignal.timeout(5000),
    });
    if (!response.ok) throw new Error(`The introspection endpoint answered ${response.status}`);
    const { active } = (await response.json()) as { active: boolean };
    if (activeUntil.size >= MOST_CACHED) activeUntil.clear();
    if (active) activeUntil.set(key, Date.now() + LAG);
    else activeUntil.delete(key);
    return active;
  }

  async function claimsOf(token: string): Promise<JWTPayload | undefined> {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: resource ?? issuer,
        typ: 'at+jwt',
        algorithms: ['ES256'],
        requiredClaims: ['sub', 'client_id', 'principal', 'exp'],
      });
      return (await isActive(token)) ? payload : undefined;
    } catch (error) {
      // An invalid token is answered with 401; if the keys cannot be fetched, it is a server error.
      if (error instanceof errors.JOSEError && !UNREADABLE_KEYS.has(error.code)) return undefined;
      throw error;
    }
  }

  return async function checkToken(ctx, next) {
    const [, token] = /^Bearer ([\w.-]+)$/i.exec(ctx.get('authorization')) ?? [];
    const claims = token === undefined ? undefined : await claimsOf(token);
    if (!claims) {
      ctx.status = 401;
      const parameters = [token === undefined ? '' : 'error="invalid_token"', metadata].filter(Boolean);
      ctx.set('WWW-Authenticate', ['Bearer', parameters.join(', ')].filter(Boolean).join(' '));
      ctx.body = {
        message: token === undefined ? 'Send an access token.' : 'The access token is not valid.',
      };
      return;
    }
    ctx.state['claims'] = claims;
    await next();
  };
}

/** RFC 9728 section 3.1: the well-known path comes between the host and the path of the API. */
function metadataUrl(resource: string): URL {
  const { origin, pathname } = new URL(resource);
  return new URL(`/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`, origin);
}

/** Serves the metadata of an API that has a host of its own (RFC 9728 section 2). */
export function serveMetadata(resource: string, issuer: string): Middleware {
  const { pathname } = metadataUrl(resource);
  return async function metadata(ctx, next) {
    if (ctx.path !== pathname) return next();
    ctx.set('Access-Control-Allow-Origin', '*');
    ctx.body = { resource, authorization_servers: [issuer], bearer_methods_supported: ['header'] };
    return undefined;
  };
}

/** Creates the API: a library that lends books to users and clients of the school platform. */
export function createLibrary(issuer: Issuer): Koa {
  const app = new Koa();
  if (issuer.resource !== undefined) app.use(serveMetadata(issuer.resource, issuer.issuer));
  app.use(checkTokens(issuer));
  app.use((ctx) => {
    const { principal, scope, sub } = ctx.state['claims'] as Record<string, string>;
    // Check `principal`, not the ids: a client can have the same id as a user.
    ctx.body = {
      data: { borrower: `${principal} ${sub}`, scopes: scope?.split(' ') ?? [], books: ['Emil'] },
    };
  });
  return app;
}

if (process.argv[1] === import.meta.filename) {
  const {
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    ISSUER: issuer,
    PORT = '3001',
    RESOURCE: resource,
  } = process.env;
  if (!issuer || !clientId || !clientSecret) {
    console.error('Set ISSUER, CLIENT_ID and CLIENT_SECRET, such as ISSUER=http://localhost:3000 ...');
    process.exit(2);
  }
  const server = createLibrary({ issuer, clientId, clientSecret, resource }).listen(
    Number(PORT),
    '127.0.0.1',
    () => {
      console.log(`The library listens at http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    },
  );
}
