import type { Overload, Pages } from '../contracts/index.ts';
import type { EngineRequest } from '../engine/request.ts';
import { TOO_MANY_PARAMETERS } from '../http/query.ts';
import { requestIdOf } from '../http/request.ts';
import { OVERLOAD_HEADERS, OVERLOAD_REASONS } from '../limits/concurrency-limit.ts';

/** Why a request is refused before anything else is read of it. */
export interface Refusal {
  readonly status: number;
  /** The OAuth error code. */
  readonly error: string;
  /** A phrase without a full stop. */
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const QUERY_TOO_LONG: Refusal = {
  status: 400,
  error: 'invalid_request',
  reason: TOO_MANY_PARAMETERS,
  headers: {},
};

export function overloadRefusal(overload: Overload): Refusal {
  return {
    status: 503,
    error: 'temporarily_unavailable',
    reason: OVERLOAD_REASONS[overload],
    headers: OVERLOAD_HEADERS,
  };
}

/** Answers a request that is refused: clients get an OAuth error (RFC 6749 section 5.2), users a page. */
export async function refuseRequest(
  pages: Pages,
  { endpoint, host: ctx }: Pick<EngineRequest, 'endpoint' | 'host'>,
  { error, headers, reason, status }: Refusal,
): Promise<true> {
  if (endpoint.callers === 'browsers') {
    const description = status < 500 ? reason : '';
    await pages.error(ctx, { status, error, description, reference: requestIdOf(ctx) });
  } else {
    ctx.status = status;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { error, error_description: reason };
  }
  ctx.set(headers);
  return true;
}
