import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';

import type { Context } from 'koa';

import type { BrowserRequest } from '../contracts/browser-request.ts';
import type { AuditOrigin, GrantOrigin } from '../contracts/index.ts';
import type { ArrivingBody } from './arriving-bodies.ts';

/**
 * What is known of one HTTP request: each fact is found once, by the step that needs it first. It begins where the request enters, and is
 * handed on by parameter. One to an endpoint of the server is an `EngineRequest` too.
 */
export interface HttpRequest {
  /** The host's context. */
  readonly host: Context;
  /** Its body. `undefined`: it has none or has arrived already, or the server does not limit its requests. */
  body?: ArrivingBody | undefined;
  /** What the pages know of the browser. */
  browser?: BrowserRequest | undefined;
}

// A map with all requests would cost more time per request than most of its steps.
const REQUEST = Symbol('gatehouse.request');

interface WithRequest {
  [REQUEST]?: HttpRequest;
}

/**
 * Lets what gets a context only find the request by it: the pages, hooks of the engine, and the routes of the host. One that has begun on
 * the context before, in middleware of the host, hands on what it knows of the browser.
 */
export function attachRequest(ctx: object & WithRequest, request: HttpRequest): void {
  request.browser ??= ctx[REQUEST]?.browser;
  ctx[REQUEST] = request;
}

/** The request of a context; `undefined`: none has begun. */
export function attachedRequest(ctx: object & WithRequest): HttpRequest | undefined {
  return ctx[REQUEST];
}

/** The request of a context of the host. One that is for a route of the host begins where it is first asked for. */
export function requestOf(ctx: Context & WithRequest): HttpRequest {
  return (ctx[REQUEST] ??= { host: ctx });
}

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

/**
 * The IP address in Koa's `ctx.ip`, or `undefined` when the text contains none. Behind a proxy, `ctx.ip` is the text of a
 * header field: some proxies add a port (`192.0.2.1:4711`, `[2001:db8::1]:4711`), and a proxy that forwards the field unchanged
 * passes on whatever the client sent.
 */
export function addressOf(text: string): string | undefined {
  // The common case, without the regular expression below.
  if (isIP(text) !== 0 && !text.includes('%')) return text;
  const [, inBrackets, beforePort] =
    /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text.trim()) ?? [];
  const [address = ''] = (inBrackets ?? beforePort ?? text.trim()).split('%');
  return isIP(address) === 0 ? undefined : address;
}

// For a page: enough to recognize a program by. Browsers name themselves near the end.
const LONGEST_USER_AGENT = 200;

/** Where a request came from, for a person to recognize it by. */
export function senderOf(ctx: Pick<Context, 'get' | 'ip'>): GrantOrigin {
  return { address: knownAddress(addressOf(ctx.ip) ?? ''), userAgent: userAgentOf(ctx) };
}

/** The `User-Agent` of a request on one line, shortened; empty when it has none. Anybody can send any text. */
export function userAgentOf(ctx: Pick<Context, 'get'>): string {
  const text = ctx
    .get('User-Agent')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return text.length > LONGEST_USER_AGENT ? `${text.slice(0, LONGEST_USER_AGENT - 1)}…` : text;
}

/** An address as people know it: Node gives an IPv4 address the form of IPv6 where it listens for both. */
export function knownAddress(address: string): string {
  return address.replace(/^::ffff:/, '');
}
