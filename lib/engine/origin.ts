import type { Context } from 'koa';

import type { AuditOrigin } from '../contracts.ts';
import { requestIdOf } from '../request-id.ts';

/** Where what a request does comes from. Takes the host's context: the engine's does not know whether the app trusts its proxy. */
export function originOf(ctx: Context): AuditOrigin {
  return { address: ctx.ip, requestId: requestIdOf(ctx) };
}
