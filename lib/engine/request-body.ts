import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { VerifyAccessToken } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { FORM, JSON_TYPE, readBody, textOf } from '../http/body.ts';
import { countMembers, parseJson, refuseDuplicates } from '../http/json.ts';
import { exceedsParameters, MOST_PARAMETERS } from '../http/query.ts';
import { isUnavailable } from '../http/unavailable.ts';
import type { TokenForm } from '../features/tokens.ts';
import { originOf } from '../http/request-id.ts';
import { requestOf } from './request.ts';
import { answerUnavailable } from './response.ts';
import { readAuthorizationForm, withoutSignInParameters } from './authorization-parameters.ts';
import type { ReadParameters } from './authorization-parameters.ts';
import { clientOfHeader, hasScope, objectToForm, separateScopes } from './request-parameters.ts';

// The limit is the engine's own (shared/selective_body.js).
const RULES = { limit: 56 * 1024, name: 'body', types: [FORM, JSON_TYPE] } as const;

/** How the parameters of a request are changed before the engine gets them. */
interface FormChanges extends ReadParameters {
  readonly unwrapToken: UnwrapToken;
}

/**
 * Reads the body of a request to an endpoint for clients, JSON or form, and passes it to the engine as a form that was read,
 * so that both content types are handled alike. Works in front of a host's body parser and behind one.
 */
export async function readTokenBody(
  ctx: Context,
  changes: FormChanges,
  run: () => Promise<unknown>,
): Promise<unknown> {
  if (ctx.method === 'OPTIONS') return run();
  if (ctx.method !== 'POST') {
    ctx.set('Allow', 'POST, OPTIONS');
    return refuse(ctx, 405, `the ${requestOf(ctx).endpoint.name} endpoint takes POST requests only`);
  }
  const named = clientOfHeader(ctx.headers.authorization);
  let form: Form;
  try {
    const adapted = await adaptForm(ctx, await receiveForm(ctx), { ...changes, named });
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
  const takeBack = passOn(ctx, String(form), named !== undefined);
  try {
    return await run();
  } finally {
    takeBack();
    if (named !== undefined && ctx.status === 401) challengeBasic(ctx);
  }
}

interface ReadRequest {
  body?: unknown;
  readable: boolean;
}

// One for all requests: V8 would keep a new one of each request in its old generation.
const isForm = (): string => FORM;

/**
 * Hands the engine a form that was read. It takes the `body` of a request that is not readable, before that of `ctx.request`
 * (shared/selective_body.js). The request is also the host's, whose parser may have set `body`.
 *
 * @param isNamed - the form names the client that the field `Authorization` names without a secret
 * @returns what gives the request back as it was
 */
function passOn(ctx: Context, form: string, isNamed: boolean): () => void {
  const { headers } = ctx.req;
  const request: ReadRequest = ctx.req;
  const { body, readable } = request;
  const { authorization } = headers;
  request.body = form;
  request.readable = false;
  ctx.request.is = isForm;
  if (isNamed) delete headers.authorization;
  return () => {
    request.body = body;
    request.readable = readable;
    if (isNamed) headers.authorization = authorization;
  };
}

/** As the engine does where it sees the header field: RFC 6749 section 5.2 requires it of a client that has sent one. */
function challengeBasic(ctx: Context): void {
  const { error, error_description: description } = ctx.body as Record<string, string>;
  const { issuer } = (ctx as unknown as KoaContextWithOIDC).oidc.provider;
  ctx.set(
    'WWW-Authenticate',
    `Basic realm="${issuer}", error="${error}", error_description="${description}"`,
  );
}

/** @returns `undefined`: the request is answered */
async function adaptForm(
  ctx: Context,
  form: Form,
  { named, ...changes }: FormChanges & { readonly named: string | undefined },
): Promise<Form | undefined> {
  const { nameResources, unwrapToken } = changes;
  const { as } = requestOf(ctx).endpoint.reads!;
  if (as === 'grant' && !nameResources && named === undefined && !hasScope(form)) return form;
  const parameters = new URLSearchParams(String(form));
  let isChanged = false;
  // Another `client_id` beside it makes two, which the engine refuses.
  if (named !== undefined && parameters.get('client_id') !== named) {
    parameters.append('client_id', named);
    isChanged = true;
  }
  if (separateScopes(parameters)) isChanged = true;
  switch (as) {
    case 'grant':
      if (nameResources?.(parameters)) isChanged = true;
      return isChanged ? String(parameters) : form;
    case 'token':
      return (await unwrapToken(ctx, parameters)) === 'answered' ? undefined : String(parameters);
    case 'access':
      nameResources?.(parameters);
      return String(withoutSignInParameters(parameters));
    case 'authorization':
      return readAuthorizationForm(ctx, String(parameters), changes);
    default:
      return as satisfies never;
  }
}

/** A form that is not changed here stays as received: it is not parsed and serialized again. */
type Form = string | Buffer;

async function receiveForm(ctx: Context): Promise<Form> {
  const form = await readParameters(ctx);
  if (exceedsParameters(form)) throw new BodyError(`The body has more than ${MOST_PARAMETERS} parameters.`);
  return form;
}

async function readParameters(ctx: Context): Promise<Form> {
  // A host's parser sets `body` on the host's request, not on the engine's.
  const body = await readBody(requestOf(ctx).host, RULES);
  if (body === undefined) return '';
  if ('value' in body) return objectToForm(body.value);
  if (body.type === FORM) return 'bytes' in body ? body.bytes : body.text;
  const text = textOf(body);
  const value = parseJson(text);
  const form = objectToForm(value);
  refuseDuplicates(text, countMembers(value));
  return form;
}

function refuse(ctx: Context, status: number, description: string): void {
  requestOf(ctx).refused = { error: 'invalid_request', reason: description };
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { error: 'invalid_request', error_description: description };
}

// Three parts of base64url with dots between them. Refresh tokens of this server contain no dot.
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Replaces an access token with an id that the engine's adapter finds; or the request is answered. */
export type UnwrapToken = (ctx: Context, form: URLSearchParams) => Promise<'answered' | undefined>;

/**
 * Lets the revocation and introspection endpoints accept signed access tokens, which the engine refuses. A valid token is
 * replaced by its `jti`, for which the adapter finds its claims; an invalid token is replaced by a random id that does not
 * exist, which both endpoints answer as RFC 7009 section 2.2 and RFC 7662 section 2.2 require.
 *
 * Whoever has the value of a token of another form can revoke it, without the authentication of a client: it was issued to none, and a
 * scanner that has found it in a public place is none.
 */
export function createUnwrapToken(verify: VerifyAccessToken, forms: readonly TokenForm[]): UnwrapToken {
  return async (ctx, sent) => {
    const token = sent.get('token');
    if (!token || sent.getAll('token').length > 1) return undefined;
    const form = forms.find((one) => one.isWellFormed(token));
    if (form) {
      const request = requestOf(ctx);
      if (request.endpoint.endsTokens) {
        await form.end(token, originOf(request.host));
        ctx.status = 200;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {};
        return 'answered';
      }
      request.introspected = await form.introspect(token, request.host);
      sent.set('token', request.introspected?.jti ?? randomUUID());
      return undefined;
    }
    if (!LOOKS_LIKE_JWT.test(token)) return undefined;
    const claims = await verify(token);
    requestOf(ctx).accessTokenClaims = claims;
    sent.set('token', claims?.jti ?? randomUUID());
    return undefined;
  };
}
