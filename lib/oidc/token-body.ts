import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';

import type { Context, Middleware } from 'koa';

import type { VerifyAccessToken } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { FORM, JSON_TYPE, readBody, textOf } from '../http/body.ts';
import { parseJson, refuseRepeated } from '../http/json.ts';
import { requestOf } from './engine-request.ts';

// The limit is the engine's own (shared/selective_body.js).
const RULES = { limit: 56 * 1024, name: 'body', types: [FORM, JSON_TYPE] } as const;

/**
 * Reads the body of a token, revocation or introspection request, JSON or form, and gives the engine an unread form, so that
 * both media types are processed in the same way. Works before and after a body parser of the host.
 *
 * @param rewrite - changes the parameters of revocation and introspection requests before the engine reads them
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
      // RFC 6749 section 5.2 defines 400 for every malformed request.
      return refuse(ctx, error.status === 408 ? 408 : 400, error.message);
    }
    setRequest(ctx, formRequest(hostRequest, form));
    try {
      return await next();
    } finally {
      setRequest(ctx, hostRequest);
    }
  };
}

/** The parameters, or the form's original text: a form is only parsed here when its parameters are needed. */
type Form = URLSearchParams | string | Buffer;

async function readForm(ctx: Context): Promise<Form> {
  // A body parser of the host sets `body` on the host's request.
  const body = await readBody(requestOf(ctx).host, RULES);
  if (body === undefined) return '';
  if ('value' in body) return objectToForm(body.value);
  if (body.type === FORM) return 'bytes' in body ? body.bytes : body.text;
  const text = textOf(body);
  const form = objectToForm(parseJson(text));
  refuseRepeated(text, form.size);
  return form;
}

/** An unread request with the original's method, URL and header fields, and with the form as its body. */
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
 * Converts an object of parameters to a form. Its values are strings, or integers (the ids of older clients), which become
 * their decimal text. Anything else is refused, so that no value of another type reaches the engine or a query.
 */
function objectToForm(value: unknown): URLSearchParams {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError('The body must be an object of parameters.');
  }
  const form = new URLSearchParams();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string' || Number.isSafeInteger(member)) form.append(name, String(member));
    else throw new BodyError('Every parameter must be a string, once.');
  }
  return form;
}

// Three parts of base64url with dots between them. Refresh tokens of this server contain no dot.
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Replaces a JWT in the parameter `token` with an id that the engine can look up. */
export type UnwrapToken = (ctx: Context, form: URLSearchParams) => Promise<void>;

/**
 * Makes the revocation and introspection endpoints accept JWT access tokens, which the engine refuses. A valid token is
 * replaced with its `jti`, for which the adapter returns the claims. An invalid one is replaced with a random id, so that both
 * endpoints answer as for an unknown token (RFC 7009 section 2.2, RFC 7662 section 2.2).
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
