import { IncomingMessage } from 'node:http';

import type { Context, Middleware } from 'koa';
import getRawBody from 'raw-body';

import { BodyError } from '../errors.ts';
import { directEndpoint } from './endpoints.ts';
import { jsonToForm, objectToForm } from './json-form.ts';
import { stateOf } from './request-state.ts';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

// The engine's own limit for a body (shared/selective_body.js).
const LIMIT = 56 * 1024;

/**
 * Reads the body of a token, revocation or introspection request, JSON or form, and hands the engine an ordinary unread
 * form, so that both take the same path and get the same answers. Works in front of a host's body parser and behind it.
 *
 * @param rewrite - changes the parameters before the engine sees them
 */
export function tokenBody(rewrite: (ctx: Context, form: URLSearchParams) => Promise<void>): Middleware {
  return async function readTokenBody(ctx, next) {
    const endpoint = directEndpoint(ctx.path);
    if (!endpoint || ctx.method === 'OPTIONS') return next();
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST, OPTIONS');
      return refuse(ctx, 405, `the ${endpoint} endpoint takes POST requests only`);
    }
    const hostRequest = ctx.req;
    let form: URLSearchParams;
    try {
      form = await readForm(ctx);
      if (endpoint !== 'token') await rewrite(ctx, form);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      if (!ctx.req.complete) discardRest(ctx);
      return refuse(ctx, 400, error.message);
    }
    setRequest(ctx, formRequest(hostRequest, form));
    try {
      return await next();
    } finally {
      setRequest(ctx, hostRequest);
    }
  };
}

async function readForm(ctx: Context): Promise<URLSearchParams> {
  if (ctx.get('content-encoding') !== '' && ctx.get('content-encoding') !== 'identity') {
    throw new BodyError('compressed request bodies are not supported');
  }
  if (ctx.get('content-type') === '') return new URLSearchParams();
  // Not `ctx.is()`: it takes a request without Content-Length for one without a body, which over HTTP/2 it need not be.
  const type = ctx.request.type.trim().toLowerCase();
  if (type !== FORM && type !== JSON_TYPE) {
    throw new BodyError(`send the parameters as ${FORM} or ${JSON_TYPE}`);
  }
  const { body, rawBody } = whatHostRead(ctx);
  if (typeof rawBody === 'string') return parse(type, rawBody);
  if (!ctx.req.readable) {
    if (body === undefined) {
      throw new BodyError('another middleware has read the request body and kept nothing of it');
    }
    return typeof body === 'string' ? parse(type, body) : objectToForm(body);
  }
  return parse(type, await readText(ctx));
}

/** What a body parser of the host has left: on the host's request, or on Node's, where other frameworks put it. */
function whatHostRead(ctx: Context): { body?: unknown; rawBody?: unknown } {
  const { request, req } = stateOf(ctx).host as {
    request: { body?: unknown; rawBody?: unknown };
    req: { body?: unknown; rawBody?: unknown };
  };
  return request.body === undefined ? req : request;
}

function parse(type: string, text: string): URLSearchParams {
  if (text.length > LIMIT) throw new BodyError(`the request body is larger than ${LIMIT} bytes`);
  return type === JSON_TYPE ? jsonToForm(text) : new URLSearchParams(text);
}

async function readText(ctx: Context): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await getRawBody(ctx.req, { limit: LIMIT, length: ctx.get('content-length') || null });
  } catch (cause) {
    const isTooLarge = (cause as { type?: unknown }).type === 'entity.too.large';
    throw new BodyError(
      isTooLarge ? `the request body is larger than ${LIMIT} bytes` : 'the request body did not arrive whole',
      {
        cause,
      },
    );
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new BodyError('the request body is not valid UTF-8', { cause });
  }
}

// A body that is left half read would be taken for the next request on the connection.
function discardRest(ctx: Context): void {
  ctx.set('Connection', 'close');
  ctx.req.resume();
}

/** An unread request with the same head and the form as its body. */
function formRequest(original: IncomingMessage, form: URLSearchParams): IncomingMessage {
  const bytes = Buffer.from(form.toString());
  const { 'transfer-encoding': _transfer, 'content-encoding': _encoding, ...headers } = original.headers;
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor } = original;
  const request = Object.assign(new IncomingMessage(original.socket), {
    method,
    url,
    httpVersion,
    httpVersionMajor,
    httpVersionMinor,
    complete: true,
  });
  request.headers = { ...headers, 'content-type': FORM, 'content-length': String(bytes.length) };
  request.push(bytes);
  request.push(null);
  return request;
}

function setRequest(ctx: Context, request: IncomingMessage): void {
  ctx.req = ctx.request.req = ctx.response.req = request;
}

function refuse(ctx: Context, status: number, description: string): void {
  stateOf(ctx).denial = { error: 'invalid_request', reason: description };
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { error: 'invalid_request', error_description: description };
}
