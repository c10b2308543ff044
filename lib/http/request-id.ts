import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import type { AuditOrigin } from '../contracts/index.ts';

// Set by a proxy on the request, and by the server on the response.
const REQUEST_ID_FIELD = 'X-Request-Id';

/**
 * The id of a request. It is in every log line about the request, in audit events, on error pages and in problems as
 * `reference`, and in the response as `X-Request-Id`.
 *
 * It is `ctx.state.requestId`, or the `X-Request-Id` that the host has set on the response; else the `X-Request-Id` of the
 * request when the app trusts its proxy (`app.proxy`), because without a proxy the client chooses it; else a UUID. It is stored
 * as `ctx.state.requestId` for later middleware. A value that does not have the form of an id is ignored.
 */
export function requestIdOf(ctx: Context): string {
  const { state } = ctx;
  const known: unknown = state['requestId'];
  if (typeof known === 'string' && PLAIN.test(known)) return known;
  const id = givenBy(ctx) ?? randomUUID();
  state['requestId'] = id;
  return id;
}

function givenBy(ctx: Context): string | undefined {
  const set = ctx.res.getHeader(REQUEST_ID_FIELD);
  if (typeof set === 'string' && PLAIN.test(set)) return set;
  if (!ctx.app.proxy) return undefined;
  const sent = ctx.get(REQUEST_ID_FIELD);
  return MADE_BY_PROXIES.test(sent) ? sent : undefined;
}

/** Sets `X-Request-Id` on the response, unless the host has set it. */
export function sendRequestId(ctx: Context): void {
  const id = requestIdOf(ctx);
  const { res } = ctx;
  if (!res.headersSent && !res.hasHeader(REQUEST_ID_FIELD)) res.setHeader(REQUEST_ID_FIELD, id);
}

/**
 * The address and the request id for audit records. Takes the host's context, because only its app knows whether to trust a
 * proxy.
 */
export function originOf(ctx: Context): AuditOrigin {
  return { address: ctx.ip, requestId: requestIdOf(ctx) };
}

// Many hosts copy the id that the client sent, so it may contain no line breaks and no terminal escapes, and its length is
// bounded.
const PLAIN = /^[\w.:=+/@-]{1,128}$/;

// A UUID, or 16 to 64 hexadecimal digits. Many proxies forward the id that the client sent: no token, code or secret of this
// server has this form, so none can reach a log by this field.
const MADE_BY_PROXIES = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,64})$/i;
