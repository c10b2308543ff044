import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

// Carries the id of a request, from the proxy and back to the client.
const REQUEST_ID_FIELD = 'X-Request-Id';

/**
 * The id of a request: in every line of the log about it, in the events of the audit, on error pages and in problems as
 * `reference`, and in the answer as `X-Request-Id`.
 *
 * It is `ctx.state.requestId`, or the `X-Request-Id` that the host has put on the answer; else the `X-Request-Id` of the
 * request when the app trusts its proxy (`app.proxy`), for without one it is the word of a stranger; else a UUID. It is
 * kept as `ctx.state.requestId`, where later middleware finds it. What is not in the form of an id is not taken.
 */
export function requestIdOf(ctx: Context): string {
  const { state } = ctx;
  const known: unknown = state['requestId'];
  if (isPlain(known)) return known;
  const id = idOfAnswer(ctx) ?? idOfProxy(ctx) ?? randomUUID();
  state['requestId'] = id;
  return id;
}

/** Puts the id on the answer, unless there is one. */
export function sendRequestId(ctx: Context): void {
  const id = requestIdOf(ctx);
  if (!ctx.headerSent && !ctx.res.hasHeader(REQUEST_ID_FIELD)) ctx.set(REQUEST_ID_FIELD, id);
}

function idOfAnswer(ctx: Context): string | undefined {
  const id = ctx.res.getHeader(REQUEST_ID_FIELD);
  return isPlain(id) ? id : undefined;
}

function idOfProxy(ctx: Context): string | undefined {
  if (!ctx.app.proxy) return undefined;
  const id = ctx.get(REQUEST_ID_FIELD);
  return MADE_BY_PROXIES.test(id) ? id : undefined;
}

// Many hosts copy what the client has sent. Nothing in it ends a line, colours a terminal or fills a disk.
const PLAIN = /^[\w.:=+/@-]{1,128}$/;

function isPlain(id: unknown): id is string {
  return typeof id === 'string' && PLAIN.test(id);
}

// A UUID, or 16 to 64 hexadecimal digits. Many proxies hand on what the client has sent: no token, code or secret of this
// server has that form, so none gets into a log by this way.
const MADE_BY_PROXIES = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{16,64})$/i;
