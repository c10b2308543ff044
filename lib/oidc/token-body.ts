import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';

import type { Context, Middleware } from 'koa';

import type { VerifyAccessToken } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { discardBody, readBytes } from '../http/body.ts';
import type { BodyFault } from '../http/body.ts';
import { requestOf } from './engine-request.ts';

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
export function tokenBody(rewrite: UnwrapToken): Middleware {
  return async function readTokenBody(ctx, next) {
    const { endpoint } = requestOf(ctx);
    if (ctx.method === 'OPTIONS') return next();
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST, OPTIONS');
      return refuse(ctx, 405, `the ${endpoint} endpoint takes POST requests only`);
    }
    const hostRequest = ctx.req;
    let form: Form;
    try {
      form = await readForm(ctx);
      if (endpoint !== 'token') {
        form = new URLSearchParams(String(form));
        await rewrite(ctx, form);
      }
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      if (!ctx.req.complete) discardBody(ctx);
      return refuse(ctx, error.status, error.message);
    }
    setRequest(ctx, formRequest(hostRequest, form));
    try {
      return await next();
    } finally {
      setRequest(ctx, hostRequest);
    }
  };
}

/** Parameters, or their text as it came: what is not looked at here need not be read and written again. */
type Form = URLSearchParams | string | Buffer;

async function readForm(ctx: Context): Promise<Form> {
  if (ctx.get('content-encoding') !== '' && ctx.get('content-encoding') !== 'identity') {
    throw new BodyError('compressed request bodies are not supported');
  }
  if (ctx.get('content-type') === '') return '';
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
  const bytes = await readBytes(ctx, LIMIT, refusal);
  // A decoder leaves a byte order mark out; a parser of JSON trips over it.
  return type === FORM ? bytes : jsonToForm(new TextDecoder().decode(bytes));
}

/** What a body parser of the host has left: on the host's request, or on Node's, where other frameworks put it. */
function whatHostRead(ctx: Context): { body?: unknown; rawBody?: unknown } {
  const { request, req } = requestOf(ctx).host as {
    request: { body?: unknown; rawBody?: unknown };
    req: { body?: unknown; rawBody?: unknown };
  };
  return request.body === undefined ? req : request;
}

function parse(type: string, text: string): Form {
  if (text.length > LIMIT) throw refusal('too large', undefined);
  return type === FORM ? text : jsonToForm(text);
}

function refusal(fault: BodyFault, cause: unknown): BodyError {
  if (fault === 'late') return new BodyError('the request body did not arrive in time', { status: 408 });
  const reasons: Readonly<Record<Exclude<BodyFault, 'late'>, string>> = {
    'too large': `the request body is larger than ${LIMIT} bytes`,
    incomplete: 'the request body did not arrive whole',
    'not UTF-8': 'the request body is not valid UTF-8',
    // Such small bodies have room.
    'no room': 'the request body could not be read',
  };
  return new BodyError(reasons[fault], { cause });
}

/** An unread request with the same head and the form as its body. */
function formRequest(original: IncomingMessage, form: Form): IncomingMessage {
  const bytes = Buffer.isBuffer(form) ? form : Buffer.from(String(form));
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
  requestOf(ctx).outcome.refuse({ error: 'invalid_request', reason: description });
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { error: 'invalid_request', error_description: description };
}

/**
 * Reads a JSON object of parameters as a form. Strings, and whole numbers by their decimal text (ids of older clients);
 * anything else is refused, so that no value of another type ever reaches the engine or a query.
 */
function jsonToForm(text: string): URLSearchParams {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BodyError('the request body is not valid JSON', { cause });
  }
  const form = objectToForm(value);
  // JSON.parse keeps the last of two members with one name and tells nobody. In a flat object each member has exactly
  // one colon outside of the strings.
  const members = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/:/g)?.length ?? 0;
  if (members !== form.size) throw new BodyError('parameters must not be provided twice');
  return form;
}

/** The same for a body that a host's parser has read. Arrays are repeated parameters, which the engine refuses. */
function objectToForm(value: unknown): URLSearchParams {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError('the request body must be an object of parameters');
  }
  const form = new URLSearchParams();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string' || Number.isSafeInteger(member)) form.append(name, String(member));
    else throw new BodyError('every parameter must be a string, once');
  }
  return form;
}

// Three parts of base64url: no refresh token of this server has a dot.
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Puts something that the engine knows in the place of a signed token. */
export type UnwrapToken = (ctx: Context, form: URLSearchParams) => Promise<void>;

/**
 * Lets the revocation and introspection endpoints take signed access tokens, which the engine refuses: a token that
 * verifies is replaced by its `jti`, under which the adapter finds its claims; one that does not, by an id that nothing
 * has, which both endpoints answer as RFC 7009 section 2.2 and RFC 7662 section 2.2 say.
 */
export function createUnwrapToken(verify: VerifyAccessToken): UnwrapToken {
  return async (ctx, form) => {
    const token = form.get('token');
    if (!token || form.getAll('token').length > 1 || !LOOKS_LIKE_JWT.test(token)) return;
    const claims = await verify(token);
    if (claims) requestOf(ctx).present({ kind: 'access_token', claims });
    form.set('token', claims?.jti ?? randomUUID());
  };
}
