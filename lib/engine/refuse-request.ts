import type { Context } from 'koa';

import type { Pages } from '../contracts.ts';
import type { Refusal } from '../http/admission.ts';
import { REFUSAL_REASONS, refusalHeaders } from '../http/refusal.ts';
import { requestIdOf } from '../request-id.ts';
import { directEndpoint } from './endpoints.ts';

/** Answers a request that is not let in: clients with an OAuth error (RFC 6749 section 5.2), people with a page. Says that it is answered. */
export async function refuseRequest(pages: Pages, ctx: Context, refusal: Refusal): Promise<true> {
  const unavailable = { status: 503, error: 'temporarily_unavailable' };
  if (directEndpoint(ctx.path)) {
    ctx.status = unavailable.status;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { error: unavailable.error, error_description: REFUSAL_REASONS[refusal] };
  } else {
    await pages.error(ctx, { ...unavailable, description: '', reference: requestIdOf(ctx) });
  }
  ctx.set(refusalHeaders(refusal));
  return true;
}
