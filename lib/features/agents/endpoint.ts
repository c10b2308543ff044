import type { Context } from 'koa';

import { originOf } from '../../http/request.ts';
import { errorOfFailure } from '../../engine/outcome.ts';
import type { EngineRequest } from '../../engine/request.ts';
import { BodyError, TooManyAttemptsError } from '../../errors.ts';
import { discardRest, readJson } from '../../http/body.ts';
import { allowOrigin } from '../../http/cors.ts';
import { isUnavailable } from '../../http/unavailable.ts';
import { matchesHash } from '../../keys/hash.ts';
import type { RegistrationPolicy } from './options.ts';
import { createDynamicRegistration, NotRegistered } from './registration.ts';
import type { RegistrationCaller, Registered, RegistrationParts } from './registration.ts';
import { RegistrationRefused, unavailable } from './metadata.ts';

/** The path below the issuer. The configuration endpoint of each app is below this path. */
export const REGISTRATION_PATH = '/oauth/register';

// The same limit as for the token endpoint.
const BODY_LIMIT = 56 * 1024;

/**
 * Answers a request to register a client (RFC 7591), or to read, change or delete the registration of one (RFC 7592). Never throws.
 *
 * @param clientId - the client of a request to the configuration endpoint; `undefined` at the registration endpoint
 */
export type RegistrationEndpoint = (
  ctx: Context,
  request: EngineRequest,
  clientId: string | undefined,
) => Promise<void>;

export function createRegistrationEndpoint(
  policy: RegistrationPolicy,
  { issuer, ...parts }: RegistrationParts & { readonly issuer: string },
): RegistrationEndpoint {
  const apps = createDynamicRegistration(policy, parts);

  async function register(ctx: Context): Promise<Registered> {
    requireInitialAccessToken(ctx);
    parts.limiters.registered.check(ctx.ip);
    return apps.register(await receiveMetadata(ctx), callerOf(ctx));
  }

  function requireInitialAccessToken(ctx: Context): void {
    const { initialAccessTokens: hashes } = policy;
    if (!hashes) return;
    const token = bearerTokenOf(ctx);
    // Every hash is compared, so that the time does not show which one matches.
    const matches = hashes.filter((hash) => matchesHash(token ?? '', hash));
    if (matches.length === 0)
      throw unauthorized(`send an initial access token ${AS_BEARER}`, token !== undefined);
  }

  async function manage(ctx: Context, id: string): Promise<Registered | undefined> {
    const token = bearerTokenOf(ctx);
    if (token === undefined)
      throw unauthorized(`send the registration access token of the app ${AS_BEARER}`, false);
    if (ctx.method === 'GET') return apps.read(id, token);
    if (ctx.method === 'PUT') return apps.update({ id, token }, await receiveMetadata(ctx), callerOf(ctx));
    await apps.remove(id, token, callerOf(ctx));
    return undefined;
  }

  /** RFC 6750 section 3, RFC 7592 section 2. */
  function unauthorized(message: string, isWrong: boolean): RegistrationRefused {
    const challenge = `Bearer realm="${issuer}"${isWrong ? ', error="invalid_token"' : ''}`;
    return new RegistrationRefused('invalid_token', message, 401, { 'WWW-Authenticate': challenge });
  }

  function respond(ctx: Context, { client, metadata, secret, token }: Registered): void {
    ctx.body = {
      client_id: client.id,
      client_id_issued_at: client.createdAt,
      ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
      ...(token === undefined
        ? {}
        : {
            registration_access_token: token,
            registration_client_uri: `${issuer}${REGISTRATION_PATH}/${client.id}`,
          }),
      ...metadata,
    };
  }

  /** Any other error is a failure of the server. */
  function refusalOf(error: unknown, clientId: string | undefined): RegistrationRefused {
    if (error instanceof RegistrationRefused) return error;
    if (error instanceof NotRegistered)
      return unauthorized('the token is not that of an app with this id', true);
    if (error instanceof BodyError) {
      const code = error.status === 503 ? 'temporarily_unavailable' : 'invalid_client_metadata';
      return new RegistrationRefused(code, error.message, error.status);
    }
    if (error instanceof TooManyAttemptsError) {
      const what =
        clientId === undefined
          ? 'too many apps were registered from this address'
          : 'too many changes of registered apps';
      return unavailable(`${what}; try again in ${error.retryAfter} seconds`, 429, error.retryAfter);
    }
    if (isUnavailable(error)) return unavailable('the server cannot reach its storage', 503, 1);
    return new RegistrationRefused(errorOfFailure(error), 'the server failed', 500);
  }

  return async function answer(ctx, request, clientId) {
    const methods = clientId === undefined ? 'POST' : 'GET, PUT, DELETE';
    ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
    allowOrigin(ctx, '*', methods);
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('Allow', `${methods}, OPTIONS`);
      return;
    }
    try {
      if (!methods.split(', ').includes(ctx.method)) {
        const refusal = new RegistrationRefused('invalid_request', `this endpoint takes ${methods}`, 405);
        ctx.set('Allow', `${methods}, OPTIONS`);
        throw discardRest(ctx, refusal);
      }
      const registered = clientId === undefined ? await register(ctx) : await manage(ctx, clientId);
      // Set only after the authentication, because anyone can write an id into the path.
      request.clientId = registered?.client.id ?? clientId!;
      if (registered) respond(ctx, registered);
      ctx.status = registered ? (clientId === undefined ? 201 : 200) : 204;
    } catch (error) {
      const { error: code, headers, message, status } = refusalOf(error, clientId);
      if (status === 500 || isUnavailable(error)) request.failure = error;
      else request.refused = { error: code, reason: message };
      ctx.status = status;
      ctx.set(headers);
      ctx.body = { error: code, error_description: message };
      discardRest(ctx, error);
    }
  };
}

const AS_BEARER = 'as Authorization: Bearer';

async function receiveMetadata(ctx: Context): Promise<Readonly<Record<string, unknown>>> {
  const sent = await readJson(ctx, BODY_LIMIT);
  if (typeof sent === 'object' && sent !== null && !Array.isArray(sent))
    return sent as Readonly<Record<string, unknown>>;
  throw new BodyError('The body must be an object of client metadata.');
}

function callerOf(ctx: Context): RegistrationCaller {
  return { address: ctx.ip, origin: originOf(ctx) };
}

function bearerTokenOf(ctx: Context): string | undefined {
  return /^bearer +([\w.~+/-]+=*) *$/i.exec(ctx.get('authorization'))?.[1];
}
