import type { Context } from 'koa';
import { errors } from 'oidc-provider';

import type { Seconds } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import type { EngineRequest } from './request.ts';

/** Refuses a request to an endpoint for clients in the engine's place (RFC 6749 section 5.2). */
export function refuse(
  request: EngineRequest,
  ctx: Context,
  {
    error = 'invalid_request',
    reason,
    status,
  }: { readonly error?: string; readonly reason: string; readonly status: number },
): void {
  request.refused = { error, reason };
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { error, error_description: reason };
}

/** Answers a request that the storage cannot be reached for. */
export function answerUnavailable(ctx: Context): void {
  ctx.status = 503;
  ctx.set('Retry-After', '1');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'the server cannot reach its storage' };
}

/**
 * The request cannot be answered now, because something besides the storage that it needs cannot be reached: 503 with `Retry-After`.
 * RFC 6749 has `temporarily_unavailable` for it (section 4.1.2.1). Nothing that the request presents was spent.
 */
export class TryAgain extends errors.CustomOIDCProviderError {
  override status = 503;
  override statusCode = 503;
  readonly retryAfter: Seconds;

  /** @param reason - for the log and the audit record, where it says more than the description */
  constructor(description: string, reason: string | undefined, retryAfter: Seconds) {
    super('temporarily_unavailable', description);
    if (reason !== undefined) this.error_detail = reason;
    this.retryAfter = retryAfter;
  }
}

/**
 * A client that failed to authenticate too often, made too many device authorization requests, or refreshed an authorization too often,
 * gets 429 (RFC 6585 section 4) with `Retry-After`. RFC 6749 section 5.2 has no code for that: `invalid_client` would mean that the
 * secret is wrong, but the secret was not compared. `temporarily_unavailable` is the code of the same RFC for a server that cannot answer
 * now (section 4.1.2.1).
 */
export class TooManyAttempts extends TryAgain {
  override status = 429;
  override statusCode = 429;

  constructor({ retryAfter }: TooManyAttemptsError, what = 'attempts to authenticate this client') {
    super(`too many ${what}; try again in ${retryAfter} seconds`, undefined, retryAfter);
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
