import { createSecretKey, hkdfSync } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

import { errors } from '../engine/oidc-provider.ts';

import { now } from '../contracts/clock.ts';
import type { AuthorizationRequest, Prompt } from '../contracts/browser-request.ts';
import type { Seconds } from '../contracts/index.ts';
import { seal, unseal } from '../keys/seal.ts';
import { derivedFromEach } from '../keys/secrets.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { PROOF } from '../engine/authorization-parameters.ts';
import { PATHS } from '../engine/endpoints.ts';

/** Encodes authorization requests for URLs and decodes them. */
export interface AuthorizationRequests {
  /**
   * Encodes a request that begins to wait, as a path segment.
   * @throws InvalidRequest of the engine, for the client, when a URL that the request goes on with would be too long
   */
  start(request: AuthorizationRequest): string;
  /** The same for a request that has started, with what a step has added. It has no limit: a request that was accepted goes on. */
  write(request: AuthorizationRequest): string;
  /** `undefined` for text that this server did not encrypt, and for a request that has expired. */
  read(text: string): AuthorizationRequest | undefined;
  /**
   * The URL of the authorization endpoint at which a request goes on, after its user has answered a page. The parameters of one that was sent
   * before are not in it: they are in a new reference, which is {@link AuthorizationRequests.resume resumed}.
   *
   * @param proof - that the user has answered, see {@link PROOF}
   */
  urlOf(
    request: Pick<AuthorizationRequest, 'parameters' | 'reference' | 'session'>,
    proof?: AuthorizationRequest,
  ): string;
  /**
   * The request of a reference that `urlOf` has made; `undefined` for any other text. What the user has answered is gone from its parameters:
   * it counts in the login session of that user only.
   */
  resume(this: void, reference: string): AuthorizationRequest | undefined;
  /**
   * The query of a request that an app has posted, or sent before. An `id_token_hint` among its parameters is encrypted: it says who the
   * user is, and proxies log URLs.
   */
  queryOf(this: void, parameters: Readonly<Record<string, string>>): string;
  /** The `id_token_hint` of a query. What this server has not encrypted is returned as it is, and is no ID token when it has expired. */
  openHint(this: void, hint: string): string;
}

// The text is in the path of a page and in the `Referer` field of its form; Node accepts 16 KiB of header fields.
const MAX_LENGTH = 7000;

// What a step adds to a request that goes on.
const MAX_ADDED = 100;

// The `Referer` field is still there when the request goes on at the authorization endpoint, whose URL is not compressed.
const MAX_WITH_URL = 13_500;

const COMPRESSION = {
  // In bytes: allocating the 16 KiB of Node's default would take as long as the compression.
  chunkSize: 1024,
  // What most requests contain, so that the text of a common request is a third shorter.
  dictionary: Buffer.from(
    '"login_hint":"","ui_locales":"","max_age":"","resource":"https://,"limited":true,"optional":[,"consented":[' +
      '"prompt":"login","reasons":["login_prompt","no_session"],"prompt":"consent","reasons":["no_consent"],"parameters":{' +
      '"client_id":"","response_type":"code","redirect_uri":"http://localhost:/callback","https://","scope":"","state":"",' +
      '"code_challenge":"","code_challenge_method":"S256"},"session":"',
  ),
};

/**
 * Puts a request that waits for a login or a consent into the URL of its page, encrypted, so that unauthenticated authorization
 * requests write no rows, and the URL, which proxies log and browsers remember, tells neither who is logged in nor what was asked.
 * The URL is no credential: a login gives the session to the browser that sent the password, a consent is accepted only from the
 * session that it was asked of, and both restart the request.
 */
export function createAuthorizationRequests(
  { issuer, tokens: { lifetimes } }: Pick<ResolvedOptions, 'issuer' | 'tokens'>,
  secrets: Secrets,
): AuthorizationRequests {
  // Each a key object, because importing a key costs more than the encryption.
  const keys = derivedFromEach(secrets, (secret) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'koa-gatehouse authorization request', 32))),
  );
  const hintContext = `${issuer} id_token_hint`;

  function encrypt(content: object, context: string): string {
    const plain = JSON.stringify({ exp: now() + lifetimes.interaction, ...content });
    return seal(deflateRawSync(plain, COMPRESSION), keys()[0]!, { context });
  }

  function decrypt(text: string, context: string): object | undefined {
    if (text.length > MAX_LENGTH + MAX_ADDED) return undefined;
    for (const key of keys()) {
      try {
        const plain = inflateRawSync(unseal(text, key, context), COMPRESSION).toString();
        const { exp, ...content } = JSON.parse(plain) as { readonly exp: Seconds };
        return exp > now() ? content : undefined;
      } catch {
        // Of another key, or no text of this server.
      }
    }
    return undefined;
  }

  const write = (request: AuthorizationRequest): string => encrypt(request, issuer);
  const read = (text: string): AuthorizationRequest | undefined =>
    decrypt(text, issuer) as AuthorizationRequest | undefined;

  function queryOf({ id_token_hint: hint, ...others }: Readonly<Record<string, string>>): string {
    const encrypted = hint === undefined ? {} : { id_token_hint: encrypt({ hint }, hintContext) };
    return new URLSearchParams({ ...others, ...encrypted }).toString();
  }

  function urlOf(
    { parameters, reference, session }: Pick<AuthorizationRequest, 'parameters' | 'reference' | 'session'>,
    proof?: AuthorizationRequest,
  ): string {
    const answered = proof && { [PROOF]: write(proof) };
    if (reference === undefined)
      return `${issuer}${PATHS.authorization}?${queryOf({ ...parameters, ...answered })}`;
    const resumed = write({ prompt: 'login', reasons: [RESUMED], parameters, reference, session });
    const query = {
      client_id: parameters['client_id']!,
      request_uri: `${REQUEST_URI}${resumed}`,
      ...answered,
    };
    return `${issuer}${PATHS.authorization}?${new URLSearchParams(query).toString()}`;
  }

  return {
    start(request) {
      const text = write(request);
      if (text.length > MAX_LENGTH || text.length + urlOf(request).length > MAX_WITH_URL)
        throw new errors.InvalidRequest('the authorization request is too long');
      return text;
    },
    write,
    read,
    urlOf,
    resume(reference) {
      const request = read(reference);
      return request?.reasons[0] === RESUMED ? request : undefined;
    },
    queryOf,
    // A JWT has dots.
    openHint(hint) {
      if (hint.includes('.')) return hint;
      const opened = decrypt(hint, hintContext) as { readonly hint: string } | undefined;
      return opened?.hint ?? hint;
    },
  };
}

/** In front of a reference in the parameter `request_uri` (RFC 9126 section 2.2). */
const REQUEST_URI = 'urn:ietf:params:oauth:request_uri:';

// No check of the engine has this name, so that the request in the URL of a page is no reference.
const RESUMED = 'resumed';

/**
 * The request without the prompts that the user has answered. A login also answers `max_age`: a user who is slower than that at the
 * consent page would be asked to log in again, and lose a consent that is not remembered. `auth_time` tells the client the age.
 */
export function withoutPrompts(
  request: AuthorizationRequest,
  prompts: readonly Prompt[],
): AuthorizationRequest {
  const { max_age: _answered, prompt = '', ...rest } = request.parameters;
  const remaining = prompt
    .split(' ')
    .filter((name) => name !== '' && !(prompts as readonly string[]).includes(name));
  return { ...request, parameters: remaining.length > 0 ? { ...rest, prompt: remaining.join(' ') } : rest };
}
