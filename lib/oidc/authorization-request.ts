import { hkdfSync } from 'node:crypto';

import { jwtVerify, SignJWT } from 'jose';
import { errors } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { Interaction } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { ENDPOINTS } from './endpoints.ts';

/** An authorization request that waits for a person: the engine has checked it, and asks them to log in or to consent. */
export interface AuthorizationRequest {
  readonly prompt: Interaction['prompt'];
  /** Why they are asked, in the engine's words, such as `login_prompt`. */
  readonly reasons: readonly string[];
  /** What the client has sent, complete. */
  readonly parameters: Readonly<Record<string, string>>;
  /** No scope was asked for, and the client is registered for none: what they are asked to agree to is nothing. */
  readonly limited?: true | undefined;
  /** The login session that it came with: its `uid` and its user. */
  readonly session?: { readonly uid: string; readonly userId: string } | undefined;
  /** Nobody was logged in at the host when its login page was asked for, so whoever comes back has just logged in. */
  readonly wasSentToLogin?: true | undefined;
}

/** Writes authorization requests into URLs and reads them back. */
export interface AuthorizationRequests {
  /**
   * The request as text for a path.
   * @throws InvalidRequest of the engine, for the client, when the request is too long for one
   */
  write(request: AuthorizationRequest): Promise<string>;
  /** `undefined` for what this server did not write, and for what has expired. */
  read(text: string): Promise<AuthorizationRequest | undefined>;
  /** The URL at which the request begins again, with some of its parameters changed. */
  urlOf(parameters: Readonly<Record<string, string>>): string;
}

// It goes into the path of a page and into the `Referer` field of its form, and Node takes 16 KiB of header fields.
const LONGEST = 7000;

const TYPE = 'oauth-authz-req+jwt';

/**
 * Keeps the requests of people who have to be asked in the URL of the page, as signed JWTs (RFC 9101 section 4), so that strangers
 * who send authorization requests cause no row. Such a URL gives nothing to whoever has it: the login gives a session to the browser
 * that sends the password, a consent is taken from the session that it was asked of, and both begin the request again.
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
      if (text.length > LONGEST) throw new errors.InvalidRequest('the authorization request is too long');
      return text;
    },
    async read(text) {
      if (text.length > LONGEST) return undefined;
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

/** The parameters without prompts that were answered, and without a maximum age: whoever was asked has just logged in. */
export function answered(
  { parameters }: AuthorizationRequest,
  prompts: readonly Interaction['prompt'][],
): Record<string, string> {
  const { max_age: _age, prompt = '', ...rest } = parameters;
  const left = prompt.split(' ').filter((name) => name !== '' && !prompts.some((done) => done === name));
  return left.length > 0 ? { ...rest, prompt: left.join(' ') } : rest;
}
