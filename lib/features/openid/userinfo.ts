import type { Context } from 'koa';

import type { VerifyAccessToken } from '../../contracts/index.ts';
import { errorOfFailure } from '../../engine/outcome.ts';
import type { EngineRequest } from '../../engine/request.ts';
import { BodyError } from '../../errors.ts';
import { FORM, discardRest } from '../../http/body.ts';
import { readForm } from '../../http/form.ts';
import { allowOrigin } from '../../http/cors.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { subjectOf } from '../../token/usable-token.ts';
import type { FindUsable } from '../../token/usable-token.ts';
import type { IsTokenActive } from '../../token/verify-access-token.ts';
import type { FindClaims } from './claims.ts';
import { OPENID } from './options.ts';

/** Answers a request to the userinfo endpoint. Never throws. */
export type UserinfoEndpoint = (ctx: Context, request: EngineRequest) => Promise<void>;

/** What the userinfo endpoint needs. */
export interface UserinfoParts {
  readonly findClaims: FindClaims;
  readonly findUsable: FindUsable;
  readonly isActive: IsTokenActive;
  /** Verifies the tokens that may read the endpoint. */
  readonly verify: VerifyAccessToken;
}

/**
 * Makes the endpoint that tells an app who the user of its token is (OpenID Connect Core 1.0 section 5.3). Pages of every origin may call
 * it: they need a token, and no cookie is read.
 */
export function createUserinfoEndpoint(
  { issuer, users }: Pick<ResolvedOptions, 'issuer' | 'users'>,
  { findClaims, findUsable, isActive, verify }: UserinfoParts,
): UserinfoEndpoint {
  async function answer(ctx: Context, request: EngineRequest): Promise<object> {
    const claims = await verify(await accessTokenOf(ctx));
    if (claims?.principal !== 'user') throw new Refused(...INVALID);
    request.clientId = claims.client_id;
    const usable = await findUsable(subjectOf(claims), {
      findUser: async (id) => users.find(id),
      isActive: async () => isActive(claims),
    });
    if (typeof usable === 'string') throw new Refused(...INVALID);
    const { scopes = [] } = usable;
    if (!scopes.includes(OPENID))
      throw new Refused(403, 'insufficient_scope', `the access token needs the scope ${OPENID}`);
    // An access token of a user has both a client and a user.
    const [client, user] = [usable.client!, usable.user!];
    return { ...(await findClaims(user, { client, scopes })), sub: user.id };
  }

  return async function userinfo(ctx, request) {
    allowOrigin(ctx, '*', 'GET, POST');
    ctx.set('Cache-Control', 'no-store');
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      return;
    }
    try {
      ctx.body = await answer(ctx, request);
    } catch (error) {
      refuse(ctx, request, error);
    }
  };

  function refuse(ctx: Context, request: EngineRequest, error: unknown): void {
    if (!(error instanceof Refused || error instanceof BodyError)) {
      request.failure = error;
      const code = errorOfFailure(error);
      ctx.status = code === 'server_error' ? 500 : 503;
      if (ctx.status === 503) ctx.set('Retry-After', '1');
      ctx.body = { error: code, error_description: 'the server failed; try again later' };
      return;
    }
    const { message, status } = error;
    const code = error instanceof Refused ? error.error : 'invalid_request';
    request.refused = { error: code ?? 'invalid_token', reason: message };
    ctx.status = status;
    // Without a token the challenge has no error code (RFC 6750 section 3.1).
    const about = code === undefined ? '' : `, error="${code}", error_description="${message}"`;
    if (status === 401 || status === 403) ctx.set('WWW-Authenticate', `Bearer realm="${issuer}"${about}`);
    if (status === 405) ctx.set('Allow', 'GET, POST, OPTIONS');
    ctx.body = { error: code ?? 'invalid_token', error_description: message };
    discardRest(ctx, error);
  }
}

/** A refusal of RFC 6750 section 3.1. @param error - its code; `undefined` when no token was sent */
class Refused extends Error {
  readonly status: number;
  readonly error: string | undefined;

  constructor(status: number, error: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

const INVALID = [
  401,
  'invalid_token',
  'the access token has expired, was revoked, or was not issued by this server for the userinfo endpoint',
] as const;

/** The access token, from the header field or from a posted form (RFC 6750 sections 2.1 and 2.2). */
async function accessTokenOf(ctx: Context): Promise<string> {
  const { method } = ctx;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST')
    throw new Refused(405, 'invalid_request', 'the userinfo endpoint takes GET and POST requests only');
  if ('access_token' in ctx.query)
    throw new Refused(
      400,
      'invalid_request',
      'send the access token in the Authorization header field, never in the URL',
    );
  const posted = method === 'POST' && ctx.is(FORM) ? (await readForm(ctx))['access_token'] : undefined;
  const header = ctx.get('Authorization');
  if (posted !== undefined && header !== '')
    throw new Refused(400, 'invalid_request', 'send the access token either in the header or in the form');
  const token = posted ?? /^bearer ([\w.-]+)$/i.exec(header)?.[1];
  if (token !== undefined) return token;
  if (header !== '') throw new Refused(...INVALID);
  throw new Refused(401, undefined, 'an access token is required: send it as Authorization: Bearer');
}
