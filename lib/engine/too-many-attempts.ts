import { errors } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { TooManyAttemptsError } from '../errors.ts';
import { currentState, stateOf } from './request-state.ts';

/*
 * What a client is told that has failed to authenticate too often: 429 (RFC 6585 section 4) with `Retry-After`. None of the
 * codes of RFC 6749 section 5.2 says that. `invalid_client` would tell a client that its secret is wrong, which nobody has
 * looked at; `temporarily_unavailable` is what the same RFC has for servers that cannot answer for now (section 4.1.2.1).
 */

/** The error that makes the engine say so. */
export function tooManyAttempts({ retryAfter }: TooManyAttemptsError): Error {
  const state = currentState();
  if (state) state.retryAfter = retryAfter;
  const { error, error_description: description } = bodyOf(retryAfter);
  return Object.assign(new errors.CustomOIDCProviderError(error, description), {
    status: 429,
    statusCode: 429,
  });
}

/** Says so in place of what the engine has answered. */
export function sayTooManyAttempts(ctx: KoaContextWithOIDC, { retryAfter }: TooManyAttemptsError): void {
  const body = bodyOf(retryAfter);
  Object.assign(stateOf(ctx), {
    retryAfter,
    denial: { error: body.error, reason: body.error_description },
  });
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
