import { parse, stringify } from 'node:querystring';
import type { ParsedUrlQuery } from 'node:querystring';

import type { Context } from 'koa';

import type { NameResources } from './resource-parameter.ts';
import type { EngineRequest } from './request.ts';

// No response mode or type of the engine, so it answers `unsupported_response_mode` or `unsupported_response_type`.
const UNSUPPORTED = 'unsupported';

/** The response mode `form_post` of this server, whose page is one of its pages: the engine's own cannot be replaced under its name. */
export const POSTED = 'gatehouse.form_post';

/** The parameter with the proof that the user has just answered the request; in its URL also where the others are not. */
export const PROOF = 'consent_proof';

/** The parameters of OpenID Connect Core 1.0 section 3.1.2.1 that a request without a sign-in has not. */
const SIGN_IN_ONLY: ReadonlySet<string> = new Set([
  'acr_values',
  'claims',
  'claims_locales',
  'id_token_hint',
  'max_age',
  'nonce',
]);

/**
 * Removes the parameters of a sign-in from a device authorization request, as
 * {@link readAuthorizationParameters} does from an authorization request. Returns the form without them.
 */
export function withoutSignInParameters(form: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...form].filter(([name]) => !isOfSignIn(name)));
}

/** What {@link readAuthorizationParameters} takes. */
export interface ParameterChanges {
  /** Whether the pages have one that posts the response. */
  readonly canPost: boolean;
  readonly nameResources: NameResources | undefined;
  /** The `id_token_hint` that a query stands for. */
  readonly openHint: (hint: string) => string;
  /** The scope by which a client signs its user in. `undefined`: none does. */
  readonly signIn: string | undefined;
}

/**
 * Reads the parameters of an authorization request, changes what the engine reads of them, and keeps them: nothing else reads the URL, so
 * that all see the same parameters, however they have arrived.
 *
 * The response mode `form_post` has a page of this server, because the engine's runs an inline script and has none of the headers of the
 * other pages. It is refused where the pages have none, and for a redirect URI to which no form can be posted. So is a response type that
 * repeats a value, such as `code code` (RFC 6749 section 3.1.1), which the engine would accept.
 *
 * Without the scope of a sign-in the parameters of one are removed. The engine would refuse them, but an OAuth
 * 2.0 server must ignore unknown parameters (RFC 6749 section 3.1). Some client libraries send a `nonce` always.
 *
 * The prompt `select_account` is `login`: a browser has one login session, and the user who logs in is the selected one.
 */
export function readAuthorizationParameters(
  request: EngineRequest,
  ctx: Context,
  options: ParameterChanges,
): void {
  const adapted = adaptAuthorization(ctx.query, options);
  if (adapted !== ctx.query) ctx.query = adapted;
  request.parameters = ctx.query;
  const { [PROOF]: proof } = ctx.query;
  if (typeof proof === 'string') request.proof = proof;
}

/** The same for those of a form. Returns the form that the engine gets. */
export function readAuthorizationForm(
  request: EngineRequest,
  form: string,
  options: ParameterChanges,
): string {
  const parameters = adaptAuthorization(parse(form), options);
  request.parameters = parameters;
  return stringify(parameters);
}

/** Returns `query` itself where nothing is changed. */
function adaptAuthorization(
  query: ParsedUrlQuery,
  { canPost, nameResources, openHint, signIn }: ParameterChanges,
): ParsedUrlQuery {
  const {
    id_token_hint: hint,
    prompt,
    redirect_uri: uri,
    resource,
    response_mode: mode,
    response_type: type,
    scope,
  } = query;
  const signsIn = signIn !== undefined && typeof scope === 'string' && scope.split(' ').includes(signIn);
  const changed: Record<string, string> = {};
  if (typeof scope === 'string' && scope !== separatedScope(scope)) changed['scope'] = separatedScope(scope);
  if (mode === 'form_post' || mode === POSTED)
    changed['response_mode'] = canPost && /^https?:/i.test(String(uri)) ? POSTED : UNSUPPORTED;
  if (typeof type === 'string' && /\b(\w+) +\1\b/.test(type)) changed['response_type'] = UNSUPPORTED;
  if (nameResources && typeof resource === 'string') {
    const parameters = new URLSearchParams({ resource });
    if (nameResources(parameters)) changed['resource'] = parameters.get('resource')!;
  }
  if (typeof prompt === 'string' && prompt.includes('select_account'))
    changed['prompt'] = prompt.replaceAll(/\bselect_account\b/g, 'login');
  if (signsIn && typeof hint === 'string' && openHint(hint) !== hint)
    changed['id_token_hint'] = openHint(hint);
  const isRemoved = (name: string): boolean => !signsIn && isOfSignIn(name);
  const isChanged = Object.keys(changed).length > 0 || Object.keys(query).some(isRemoved);
  if (!isChanged) return query;
  const kept = Object.entries(query).filter(([name]) => !isRemoved(name));
  return { ...Object.fromEntries(kept), ...changed };
}

/** The names in a parameter `scope`, separated by one blank each. */
export function separatedScope(scope: string): string {
  return scope.split(' ').filter(Boolean).join(' ');
}

function isOfSignIn(name: string): boolean {
  return SIGN_IN_ONLY.has(name);
}
