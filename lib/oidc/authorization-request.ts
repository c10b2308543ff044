import { hkdfSync } from 'node:crypto';

import { jwtVerify, SignJWT } from 'jose';
import { errors } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { Interaction } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { ENDPOINTS } from './endpoints.ts';

/** An authorization request that the engine has checked and that waits for the user to log in or to consent. */
export interface AuthorizationRequest {
  readonly prompt: Interaction['prompt'];
  /** The engine's reasons for the prompt, such as `login_prompt`. */
  readonly reasons: readonly string[];
  /** All parameters that the client sent. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The request names no scope and the client is registered for none: the consent is limited to no scope. */
  readonly limited?: true | undefined;
  /** On a consent page: the requested scopes that the user has consented to before. The page asks for the other ones only. */
  readonly consented?: readonly string[] | undefined;
  /** On a consent page: the scopes that the user can decline. */
  readonly optional?: readonly string[] | undefined;
  /** The login session of the browser: its `uid` and its user. `undefined`: no user was logged in. */
  readonly session?: { readonly uid: string; readonly userId: string } | undefined;
  /** The browser was redirected to the host's login page without a host user, so a host user now has just logged in. */
  readonly wasSentToLogin?: true | undefined;
}

/** Encodes authorization requests for URLs and decodes them. */
export interface AuthorizationRequests {
  /**
   * Encodes a request as a path segment.
   * @throws InvalidRequest of the engine, for the client, when the request is too long for a path
   */
  write(request: AuthorizationRequest): Promise<string>;
  /** `undefined` for text that this server did not sign, and for a request that has expired. */
  read(text: string): Promise<AuthorizationRequest | undefined>;
  /** The URL of the authorization endpoint with these parameters: the request starts again there. */
  urlOf(parameters: Readonly<Record<string, string>>): string;
}

// The text is in the path of a page and in the `Referer` field of its form; Node accepts 16 KiB of header fields.
const MAX_LENGTH = 7000;

const TYPE = 'oauth-authz-req+jwt';

/**
 * Puts a request that waits for a login or a consent into the URL of its page, as a signed JWT (RFC 9101 section 4), so that
 * unauthenticated authorization requests write no rows. The URL is no credential: a login gives the session to the browser that
 * sent the password, a consent is accepted only from the session that it was asked of, and both restart the request.
 *
 * @param cookieKeys - newest first: the first signs, all verify
 */
export function createAuthorizationRequests(
  { issuer, lifetimes }: Pick<ResolvedOptions, 'issuer' | 'lifetimes'>,
  cookieKeys: readonly string[],
): AuthorizationRequests {
  const keys = cookieKeys.map(
    (key) => new Uint8Array(hkdfSync('sha256', key, '', 'koa-gatehouse authorization request', 32)),
  );

  async function verify(text: string, key: Uint8Array): Promise<AuthorizationRequest | undefined> {
    try {
      const { payload } = await jwtVerify<{ request: AuthorizationRequest }>(text, key, {
        issuer,
        typ: TYPE,
        algorithms: ['HS256'],
        requiredClaims: ['exp', 'request'],
      });
      return payload.request;
    } catch {
      return undefined;
    }
  }

  return {
    async write(request) {
      const text = await new SignJWT({ request })
        .setProtectedHeader({ alg: 'HS256', typ: TYPE })
        .setIssuer(issuer)
        .setExpirationTime(now() + lifetimes.interaction)
        .sign(keys[0]!);
      if (text.length > MAX_LENGTH) throw new errors.InvalidRequest('the authorization request is too long');
      return text;
    },
    async read(text) {
      if (text.length > MAX_LENGTH) return undefined;
      for (const key of keys) {
        const request = await verify(text, key);
        if (request) return request;
      }
      return undefined;
    },
    urlOf: (parameters) =>
      `${issuer}${ENDPOINTS.authorization}?${new URLSearchParams(parameters).toString()}`,
  };
}

/** The parameters without the prompts that the user has answered. */
export function withoutPrompts(
  { parameters }: AuthorizationRequest,
  prompts: readonly Interaction['prompt'][],
): Record<string, string> {
  const { prompt = '', ...rest } = parameters;
  const remaining = prompt
    .split(' ')
    .filter((name) => name !== '' && !(prompts as readonly string[]).includes(name));
  return remaining.length > 0 ? { ...rest, prompt: remaining.join(' ') } : rest;
}
