import type { Context } from 'koa';

import { NotRegistered, RegistrationDisabled, TooManyClients } from './dynamic-registration.ts';
import type { Caller, DynamicRegistration, Registered } from './dynamic-registration.ts';
import { RegistrationRefused } from './registration-metadata.ts';
import { BodyError, TooManyAttemptsError } from '../errors.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { discardRest, readJson } from '../http/body.ts';
import { matchesHash } from '../keys/hash.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { ENDPOINTS } from '../engine/endpoints.ts';
import type { EngineRequest } from '../engine/request.ts';
import { errorOfFailure } from '../engine/request.ts';
import { originOf } from '../engine/request-facts.ts';

// As of the token endpoint.
const BODY_LIMIT = 56 * 1024;

// In seconds. A place becomes free when an app is removed, which takes hours or a person.
const RETRY_WHEN_FULL = 3600;

/**
 * Answers a request to register a client (RFC 7591), or to read, change or delete the registration of one (RFC 7592). Never
 * throws.
 *
 * @param clientId - of the configuration endpoint; `undefined`: the registration endpoint
 */
export type RegistrationEndpoint = (
  ctx: Context,
  request: EngineRequest,
  clientId: string | undefined,
) => Promise<void>;

export function createRegistrationEndpoint(
  {
    initialAccessTokenHashes,
    issuer,
  }: Pick<ResolvedOptions, 'issuer'> & { readonly initialAccessTokenHashes: readonly string[] | undefined },
  dynamicRegistration: DynamicRegistration,
): RegistrationEndpoint {
  async function register(ctx: Context): Promise<Registered> {
    requireInitialAccessToken(ctx);
    dynamicRegistration.check(ctx.ip);
    return dynamicRegistration.register(await readMetadata(ctx), callerOf(ctx));
  }

  function requireInitialAccessToken(ctx: Context): void {
    if (!initialAccessTokenHashes) return;
    const token = bearerTokenOf(ctx);
    // Each is compared, so that the time does not show which one is alike.
    const matches = initialAccessTokenHashes.filter((hash) => matchesHash(token ?? '', hash));
    if (matches.length === 0) throw new Unauthorized(token !== undefined, 'an initial access token');
  }

  async function manage(ctx: Context, id: string): Promise<Registered | undefined> {
    const token = bearerTokenOf(ctx);
    if (token === undefined) throw new Unauthorized(false, REGISTRATION_TOKEN);
    if (ctx.method === 'GET') return dynamicRegistration.read(id, token);
    if (ctx.method === 'PUT')
      return dynamicRegistration.update({ id, token }, await readMetadata(ctx), callerOf(ctx));
    await dynamicRegistration.remove(id, token, callerOf(ctx));
    return undefined;
  }

  function respond(ctx: Context, { client, metadata, secret, token }: Registered): void {
    ctx.body = {
      client_id: client.id,
      client_id_issued_at: client.createdAt,
      ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
      registration_access_token: token,
      registration_client_uri: `${issuer}${ENDPOINTS.registration}/${client.id}`,
      ...metadata,
    };
  }

  return async function answer(ctx, request, clientId) {
    const methods = clientId === undefined ? 'POST' : 'GET, PUT, DELETE';
    ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
    allowOrigins(ctx, methods);
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('Allow', `${methods}, OPTIONS`);
      return;
    }
    try {
      if (!methods.split(', ').includes(ctx.method)) {
        ctx.set('Allow', `${methods}, OPTIONS`);
        throw discardRest(ctx, new WrongMethod(methods));
      }
      const registered = clientId === undefined ? await register(ctx) : await manage(ctx, clientId);
      // Only now, because anyone can write an id into the path.
      request.clientId = registered?.client.id ?? clientId!;
      if (registered) respond(ctx, registered);
      ctx.status = registered ? (clientId === undefined ? 201 : 200) : 204;
    } catch (error) {
      refuse(ctx, request, refusalOf(error, issuer, clientId));
      discardRest(ctx, error);
    }
  };
}

const REGISTRATION_TOKEN = 'the registration access token of the app';

class Unauthorized extends Error {
  readonly isWrong: boolean;

  constructor(isWrong: boolean, needed: string) {
    super(`send ${needed} as Authorization: Bearer`);
    this.isWrong = isWrong;
  }
}

class WrongMethod extends Error {
  constructor(methods: string) {
    super(`this endpoint takes ${methods}`);
  }
}

async function readMetadata(ctx: Context): Promise<Readonly<Record<string, unknown>>> {
  const sent = await readJson(ctx, BODY_LIMIT);
  if (typeof sent === 'object' && sent !== null && !Array.isArray(sent))
    return sent as Readonly<Record<string, unknown>>;
  throw new BodyError('The body must be an object of client metadata.');
}

function callerOf(ctx: Context): Caller {
  return { address: ctx.ip, origin: originOf(ctx) };
}

function bearerTokenOf(ctx: Context): string | undefined {
  return /^bearer +([\w.~+/-]+=*) *$/i.exec(ctx.get('authorization'))?.[1];
}

/**
 * Lets pages of every origin register and manage apps: an app that runs in the browser has no origin that this server knows before
 * it is registered. No cookie is read here, so a page can do nothing that its own server could not do. When the host has set CORS
 * header fields itself, they are left unchanged.
 */
function allowOrigins(ctx: Context, methods: string): void {
  if (Object.keys(ctx.response.headers).some((name) => name.startsWith('access-control-'))) return;
  ctx.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After' });
  if (ctx.method !== 'OPTIONS') return;
  ctx.set({
    'Access-Control-Allow-Methods': methods,
    // The wildcard does not include `Authorization` (Fetch standard).
    'Access-Control-Allow-Headers': '*, Authorization',
    'Access-Control-Max-Age': '600',
  });
}

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A failure of the server. */
  readonly failure?: unknown;
}

function refusalOf(error: unknown, realm: string, clientId: string | undefined): Refusal {
  if (error instanceof RegistrationRefused) {
    return { status: 400, error: error.error, reason: error.message };
  }
  if (error instanceof BodyError) {
    const isOverload = error.status === 503;
    return {
      status: error.status,
      error: isOverload ? 'temporarily_unavailable' : 'invalid_client_metadata',
      reason: error.message,
    };
  }
  if (error instanceof Unauthorized || error instanceof NotRegistered) return unauthorized(error, realm);
  if (error instanceof RegistrationDisabled) {
    return { status: 403, error: 'access_denied', reason: 'the app is disabled' };
  }
  if (error instanceof WrongMethod) return { status: 405, error: 'invalid_request', reason: error.message };
  if (error instanceof TooManyAttemptsError) {
    const what =
      clientId === undefined
        ? 'too many apps were registered from this address'
        : 'too many changes of registered apps';
    return {
      status: 429,
      error: 'temporarily_unavailable',
      reason: `${what}; try again in ${error.retryAfter} seconds`,
      headers: { 'Retry-After': String(error.retryAfter) },
    };
  }
  if (error instanceof TooManyClients) {
    return {
      status: 503,
      error: 'temporarily_unavailable',
      reason: 'no more apps can be registered at the moment',
      headers: { 'Retry-After': String(RETRY_WHEN_FULL) },
    };
  }
  if (isUnavailable(error)) {
    return {
      status: 503,
      error: errorOfFailure(error),
      reason: 'the server cannot reach its storage',
      headers: { 'Retry-After': '1' },
      failure: error,
    };
  }
  return { status: 500, error: errorOfFailure(error), reason: 'the server failed', failure: error };
}

/** RFC 6750 section 3, RFC 7592 section 2. */
function unauthorized(error: Unauthorized | NotRegistered, realm: string): Refusal {
  const isWrong = error instanceof NotRegistered || error.isWrong;
  const reason =
    error instanceof NotRegistered ? 'the token is not that of an app with this id' : error.message;
  return {
    status: 401,
    error: 'invalid_token',
    reason,
    headers: {
      'WWW-Authenticate': `Bearer realm="${realm}"${isWrong ? ', error="invalid_token"' : ''}`,
    },
  };
}

function refuse(ctx: Context, request: EngineRequest, refusal: Refusal): void {
  if ('failure' in refusal) request.failure = refusal.failure;
  else request.refused = { error: refusal.error, reason: refusal.reason };
  ctx.status = refusal.status;
  if (refusal.headers) ctx.set(refusal.headers);
  ctx.body = { error: refusal.error, error_description: refusal.reason };
}
