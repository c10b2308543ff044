import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import { FORM, JSON_TYPE, readBody, textOf } from '../http/body.ts';
import { countMembers, parseJson, refuseDuplicates } from '../http/json.ts';
import { exceedsParameters, MOST_PARAMETERS } from '../http/query.ts';
import { isUnavailable } from '../http/unavailable.ts';
import { challengeBasic } from './corrections.ts';
import { answerUnavailable, refuse } from './refusals.ts';
import type { EngineRequest } from './request.ts';
import {
  readAuthorizationForm,
  separatedScope,
  withoutSignInParameters,
} from './authorization-parameters.ts';
import type { ParameterChanges } from './authorization-parameters.ts';
import type { UnwrapToken } from './unwrap-token.ts';

// The limit is the engine's own (shared/selective_body.js).
export const RULES = { limit: 56 * 1024, name: 'body', types: [FORM, JSON_TYPE] } as const;

/** How the parameters of a request are changed before the engine gets them. */
interface FormChanges extends ParameterChanges {
  readonly unwrapToken: UnwrapToken;
}

/**
 * Reads the body of a request to an endpoint for clients, JSON or form, and passes it to the engine as a form that was read,
 * so that both content types are handled alike. Works in front of a host's body parser and behind one.
 *
 * @param ctx - the engine's context, which gets the response
 */
export async function readTokenBody(
  request: EngineRequest,
  ctx: Context,
  changes: FormChanges,
  run: () => Promise<unknown>,
): Promise<unknown> {
  if (ctx.method === 'OPTIONS') return run();
  if (ctx.method !== 'POST') {
    ctx.set('Allow', 'POST, OPTIONS');
    const reason = `the ${request.endpoint.name} endpoint takes POST requests only`;
    return refuse(request, ctx, { status: 405, reason });
  }
  const named = clientOfHeader(ctx.headers.authorization);
  let form: Form;
  try {
    const adapted = await adaptForm(request, ctx, { ...changes, form: await receiveForm(request), named });
    if (adapted === undefined) return undefined;
    form = adapted;
  } catch (error) {
    if (isUnavailable(error)) {
      request.failure = error;
      return answerUnavailable(ctx);
    }
    if (!(error instanceof BodyError)) throw error;
    // RFC 6749 section 5.2 defines 400 only for a malformed request. 408 tells the client that it may send the request again.
    return refuse(request, ctx, { status: error.status === 408 ? 408 : 400, reason: error.message });
  }
  const takeBack = passOn(ctx, String(form), named !== undefined);
  try {
    return await run();
  } finally {
    takeBack();
    if (named !== undefined && ctx.status === 401) challengeBasic(ctx, request);
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

/**
 * @returns `undefined`: the request is answered
 * @throws BodyError for too many parameters
 */
async function adaptForm(
  request: EngineRequest,
  ctx: Context,
  { form, named, ...changes }: FormChanges & { readonly form: Form; readonly named: string | undefined },
): Promise<Form | undefined> {
  const { nameResources, unwrapToken } = changes;
  const { kind } = request.endpoint.reads!;
  if (exceedsParameters(form)) throw new BodyError(`The body has more than ${MOST_PARAMETERS} parameters.`);
  const { clientOf } = request.engine!;
  if (kind === 'token' && !nameResources && !clientOf && named === undefined && !hasScope(form)) return form;
  const parameters = new URLSearchParams(String(form));
  let isChanged = false;
  // Another `client_id` beside it makes two, which the engine refuses.
  if (named !== undefined && parameters.get('client_id') !== named) {
    parameters.append('client_id', named);
    isChanged = true;
  }
  if (separateScopes(parameters)) isChanged = true;
  switch (kind) {
    case 'token':
      if (nameResources?.(parameters)) isChanged = true;
      if (clientOf && !isAuthenticated(request, parameters, named)) {
        request.clientOfGrant = clientOf(parameters);
        if (request.clientOfGrant !== undefined && !parameters.has('client_id')) {
          parameters.append('client_id', request.clientOfGrant);
          isChanged = true;
        }
      }
      return isChanged ? String(parameters) : form;
    case 'issued_token':
      return (await unwrapToken(request, ctx, parameters)) === 'answered' ? undefined : String(parameters);
    case 'authorization_without_redirect':
      nameResources?.(parameters);
      return String(withoutSignInParameters(parameters));
    case 'authorization':
      return readAuthorizationForm(request, String(parameters), changes);
    default:
      return kind satisfies never;
  }
}

/** Whether a client sends a credential of its own. @param named - it sends the header field, and no secret in it */
function isAuthenticated(
  { host }: EngineRequest,
  parameters: URLSearchParams,
  named: string | undefined,
): boolean {
  if (host.headers.authorization !== undefined && named === undefined) return true;
  return ['client_secret', 'client_assertion'].some((name) => Boolean(parameters.get(name)));
}

/** A form that is not changed here stays as received: it is not parsed and serialized again. */
type Form = string | Buffer;

async function receiveForm({ host }: EngineRequest): Promise<Form> {
  // A host's parser sets `body` on the host's request, not on the engine's.
  const body = await readBody(host, RULES);
  if (body === undefined) return '';
  if ('value' in body) return objectToForm(body.value);
  if (body.type === FORM) return 'bytes' in body ? body.bytes : body.text;
  const text = textOf(body);
  const value = parseJson(text);
  const form = objectToForm(value);
  refuseDuplicates(text, countMembers(value));
  return form;
}

/** The parameters of the endpoints for clients (RFC 6749, 7009, 7521, 7523, 7636, 7662, 8628, 8707, 9396 and OpenID Connect Core 1.0). */
const KNOWN: ReadonlySet<string> = new Set([
  'acr_values',
  'assertion',
  'authorization_details',
  'claims',
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'code',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'device_code',
  'grant_type',
  'id_token_hint',
  'login_hint',
  'max_age',
  'nonce',
  'prompt',
  'redirect_uri',
  'refresh_token',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
  'token',
  'token_type_hint',
]);

/**
 * Converts an object of parameters to a form. Strings, and integers as their decimal text (ids of older clients), are accepted; `null` is
 * the same as left out. An unknown member may be anything and is ignored (RFC 6749 section 3.2); a known one of another type is refused,
 * so that no value of another type reaches the engine or a query.
 *
 * @throws BodyError
 */
function objectToForm(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError('The body must be an object of parameters.');
  }
  const fields: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const isText = typeof member === 'string';
    if (!isText && !Number.isSafeInteger(member)) {
      if (member === null || !KNOWN.has(name)) continue;
      throw new BodyError(`The parameter ${name} must be a string.`);
    }
    // As URLSearchParams, without its cost: a lone surrogate, which `encodeURIComponent()` refuses, becomes U+FFFD.
    const encoded = isText ? encodeURIComponent(member.toWellFormed()) : String(member);
    fields.push(`${encodeURIComponent(name.toWellFormed())}=${encoded}`);
  }
  return fields.join('&');
}

/** Whether a form may have scopes to separate. */
function hasScope(form: string | Buffer): boolean {
  return form.includes('scope=');
}

/**
 * Names in `scope` are separated by one blank each, for the engine, which refuses others (RFC 6749 section 3.3); with blanks alone it has no
 * names. Returns whether that has changed the parameters.
 */
function separateScopes(parameters: URLSearchParams): boolean {
  const sent = parameters.getAll('scope');
  const separated = sent.map(separatedScope);
  if (separated.every((scope, index) => scope === sent[index])) return false;
  parameters.delete('scope');
  for (const scope of separated) parameters.append('scope', scope);
  return true;
}

/**
 * The `client_id` of HTTP Basic with an empty password, which is the same as no password (RFC 6749 section 2.3.1): libraries send it for a
 * public client, and the engine refuses it. `undefined` for any other header field.
 */
function clientOfHeader(authorization: string | undefined): string | undefined {
  const [, encoded] = /^basic ([a-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [, id] = /^([^:]+):$/.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  try {
    return id === undefined ? undefined : decodeURIComponent(id.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
