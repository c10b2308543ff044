import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';

import type { Context } from 'koa';

import type { IntrospectedPersonalToken, VerifyAccessToken } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { FORM, JSON_TYPE, readBody, textOf } from '../http/body.ts';
import { parseJson, refuseDuplicates } from '../http/json.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { isPersonalToken } from '../personal-tokens/value.ts';
import { requestOf } from './request.ts';
import { answerUnavailable } from './response.ts';
import { withoutOpenIdParameters } from './metadata.ts';
import type { NameResources } from './resource-parameter.ts';

// The limit is the engine's own (shared/selective_body.js).
const RULES = { limit: 56 * 1024, name: 'body', types: [FORM, JSON_TYPE] } as const;

/**
 * Reads the body of a request to an endpoint for clients, JSON or form, and passes it to the engine as an unread form,
 * so that both content types are handled alike. Works in front of a host's body parser and behind one.
 *
 * @param rules.isStream - whether more than the engine itself may read the form
 */
export async function readTokenBody(
  ctx: Context,
  {
    isStream,
    ...changes
  }: {
    readonly isStream: boolean;
    readonly nameResources: NameResources | undefined;
    readonly unwrapToken: UnwrapToken;
  },
  run: () => Promise<unknown>,
): Promise<unknown> {
  if (ctx.method === 'OPTIONS') return run();
  if (ctx.method !== 'POST') {
    ctx.set('Allow', 'POST, OPTIONS');
    return refuse(ctx, 405, `the ${requestOf(ctx).endpoint} endpoint takes POST requests only`);
  }
  const hostRequest = ctx.req;
  let form: Form;
  try {
    const adapted = await adaptForm(ctx, await receiveForm(ctx), changes);
    if (adapted === undefined) return undefined;
    form = adapted;
  } catch (error) {
    if (isUnavailable(error)) {
      requestOf(ctx).failure = error;
      return answerUnavailable(ctx);
    }
    if (!(error instanceof BodyError)) throw error;
    // RFC 6749 section 5.2 defines 400 only for a malformed request. 408 tells the client that it may send the request again.
    return refuse(ctx, error.status === 408 ? 408 : 400, error.message);
  }
  setRequest(ctx, formRequest(hostRequest, form, { isStream }));
  try {
    return await run();
  } finally {
    setRequest(ctx, hostRequest);
  }
}

/** @returns `undefined`: the request is answered */
async function adaptForm(
  ctx: Context,
  form: Form,
  { nameResources, unwrapToken }: Pick<Parameters<typeof readTokenBody>[1], 'nameResources' | 'unwrapToken'>,
): Promise<Form | undefined> {
  const { endpoint } = requestOf(ctx);
  if (endpoint === 'token' && !nameResources) return form;
  const sent = new URLSearchParams(String(form));
  if (endpoint === 'token') return nameResources!(sent) ? String(sent) : form;
  const parameters = endpoint === 'device_authorization' ? withoutOpenIdParameters(sent) : sent;
  if (endpoint === 'device_authorization') nameResources?.(parameters);
  else if ((await unwrapToken(ctx, parameters)) === 'answered') return undefined;
  return String(parameters);
}

/** A form that is not changed here stays as received: it is not parsed and serialized again. */
type Form = string | Buffer;

async function receiveForm(ctx: Context): Promise<Form> {
  // A host's parser sets `body` on the host's request, not on the engine's.
  const body = await readBody(requestOf(ctx).host, RULES);
  if (body === undefined) return '';
  if ('value' in body) return objectToForm(body.value);
  if (body.type === FORM) return 'bytes' in body ? body.bytes : body.text;
  const text = textOf(body);
  const value = parseJson(text);
  const form = objectToForm(value);
  refuseDuplicates(text, Object.keys(value as object).length);
  return form;
}

function setRequest(ctx: Context, request: IncomingMessage): void {
  ctx.req = ctx.request.req = ctx.response.req = request;
}

function refuse(ctx: Context, status: number, description: string): void {
  requestOf(ctx).refused = { error: 'invalid_request', reason: description };
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { error: 'invalid_request', error_description: description };
}

/**
 * Converts an object of parameters to a form. Strings, and integers as their decimal text (ids of older clients), are accepted;
 * any other value is refused, so that no value of another type reaches the engine or a query.
 */
function objectToForm(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError('The body must be an object of parameters.');
  }
  const fields: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const isText = typeof member === 'string';
    if (!isText && !Number.isSafeInteger(member)) throw new BodyError('Every parameter must be a string.');
    // As URLSearchParams, without its cost: a lone surrogate, which `encodeURIComponent()` refuses, becomes U+FFFD.
    const encoded = isText ? encodeURIComponent(member.toWellFormed()) : String(member);
    fields.push(`${encodeURIComponent(name.toWellFormed())}=${encoded}`);
  }
  return fields.join('&');
}

// Three parts of base64url with dots between them. Refresh tokens of this server contain no dot.
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Replaces an access token with an id that the engine's adapter finds; or the request is answered. */
export type UnwrapToken = (ctx: Context, form: URLSearchParams) => Promise<'answered' | undefined>;

/** What the revocation and introspection endpoints do with personal access tokens, which are no tokens of a client. */
export interface PresentedPersonalTokens {
  /** Ends a token by its value, if there is one. */
  end(value: string, ctx: Context): Promise<unknown>;
  introspect(value: string): Promise<IntrospectedPersonalToken | undefined>;
}

/**
 * Lets the revocation and introspection endpoints accept signed access tokens, which the engine refuses. A valid token is
 * replaced by its `jti`, for which the adapter finds its claims; an invalid token is replaced by a random id that does not
 * exist, which both endpoints answer as RFC 7009 section 2.2 and RFC 7662 section 2.2 require.
 *
 * Whoever has the value of a personal access token can revoke it, without the authentication of a client: it was issued to none, and a
 * scanner that has found it in a public place is none.
 */
export function createUnwrapToken(
  verify: VerifyAccessToken,
  personal: PresentedPersonalTokens | undefined,
): UnwrapToken {
  return async (ctx, form) => {
    const token = form.get('token');
    if (!token || form.getAll('token').length > 1) return undefined;
    if (personal && isPersonalToken(token)) {
      const request = requestOf(ctx);
      if (request.endpoint === 'revocation') {
        await personal.end(token, request.host);
        ctx.status = 200;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {};
        return 'answered';
      }
      request.personalToken = await personal.introspect(token);
      form.set('token', request.personalToken?.id ?? randomUUID());
      return undefined;
    }
    if (!LOOKS_LIKE_JWT.test(token)) return undefined;
    const claims = await verify(token);
    requestOf(ctx).accessTokenClaims = claims;
    form.set('token', claims?.jti ?? randomUUID());
    return undefined;
  };
}

/** A request with the header of the original and a form as its body, for the engine to read instead of the original. */
function formRequest(
  original: IncomingMessage,
  form: Buffer | string,
  { isStream }: { readonly isStream: boolean },
): IncomingMessage {
  const bytes = typeof form === 'string' ? Buffer.from(form) : form;
  const { 'transfer-encoding': _transfer, 'content-encoding': _encoding, ...headers } = original.headers;
  headers['content-type'] = FORM;
  headers['content-length'] = String(bytes.length);
  return isStream
    ? streamOf(original, headers, bytes)
    : (new ReceivedForm(original, headers, bytes) as unknown as IncomingMessage);
}

/**
 * A request whose body was received. The engine reads the body by `iterator()`, and a stream of Node for one chunk, with its
 * buffers and events, would cost more than any other step of this module. Everything else is that of the original.
 */
class ReceivedForm {
  readonly method: string | undefined;
  url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: string[];
  readonly httpVersion: string;
  readonly httpVersionMajor: number;
  readonly httpVersionMinor: number;
  readonly socket: IncomingMessage['socket'];
  readonly complete = true;
  readonly readable = true;
  readonly readableEncoding = null;
  readonly #bytes: Buffer;

  constructor(original: IncomingMessage, headers: IncomingMessage['headers'], bytes: Buffer) {
    this.method = original.method;
    this.url = original.url;
    this.headers = headers;
    this.rawHeaders = original.rawHeaders;
    this.httpVersion = original.httpVersion;
    this.httpVersionMajor = original.httpVersionMajor;
    this.httpVersionMinor = original.httpVersionMinor;
    this.socket = original.socket;
    this.#bytes = bytes;
  }

  iterator(): Iterable<Buffer> {
    return [this.#bytes];
  }
}

// So that listeners of the host find the methods of a request. Nothing of a stream is set up, which is what takes the time.
Object.setPrototypeOf(ReceivedForm.prototype, IncomingMessage.prototype);

function streamOf(
  original: IncomingMessage,
  headers: IncomingMessage['headers'],
  bytes: Buffer,
): IncomingMessage {
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor } = original;
  const request = Object.assign(new IncomingMessage(original.socket), {
    method,
    url,
    httpVersion,
    httpVersionMajor,
    httpVersionMinor,
    complete: true,
  });
  request.headers = headers;
  request.push(bytes);
  request.push(null);
  return request;
}
