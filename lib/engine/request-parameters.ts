import { BodyError } from '../errors.ts';

/** The parameters of the endpoints for clients (RFC 6749, 7009, 7523, 7636, 7662, 8628 and 8707). */
const KNOWN: ReadonlySet<string> = new Set([
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'device_code',
  'grant_type',
  'redirect_uri',
  'refresh_token',
  'resource',
  'scope',
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
export function objectToForm(value: unknown): string {
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
export function hasScope(form: string | Buffer): boolean {
  return form.includes('scope=');
}

/**
 * Names in `scope` are separated by one blank each, for the engine, which refuses others (RFC 6749 section 3.3); with blanks alone it has no
 * names. Returns whether that has changed the parameters.
 */
export function separateScopes(parameters: URLSearchParams): boolean {
  const sent = parameters.getAll('scope');
  const separated = sent.map(separatedScope);
  if (separated.every((scope, index) => scope === sent[index])) return false;
  parameters.delete('scope');
  for (const scope of separated) parameters.append('scope', scope);
  return true;
}

export function separatedScope(scope: string): string {
  return scope.split(' ').filter(Boolean).join(' ');
}

/**
 * The `client_id` of HTTP Basic with an empty password, which is the same as no password (RFC 6749 section 2.3.1): libraries send it for a
 * public client, and the engine refuses it. `undefined` for any other header field.
 */
export function clientOfHeader(authorization: string | undefined): string | undefined {
  const [, encoded] = /^basic ([a-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [, id] = /^([^:]+):$/.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  try {
    return id === undefined ? undefined : decodeURIComponent(id.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
