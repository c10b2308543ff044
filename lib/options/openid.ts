import type { Context } from 'koa';

import type { Client, Seconds, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { isObject, optional, readOptions } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { lifetimeCheck } from './lifetimes.ts';
import { checkName } from './scopes.ts';
import type { Scope } from './scopes.ts';
import { signingAlgorithm } from './tokens.ts';
import type { SigningAlgorithm } from './tokens.ts';
import { boolean, fn, list, text } from './values.ts';

// Claims of an ID token and of a userinfo response that this server sets itself (OpenID Connect Core 1.0 sections 2, 3.1.3.6 and 5.5,
// RFC 7519 section 4.1).
const RESERVED: ReadonlySet<string> = new Set(
  'iss sub aud exp nbf iat jti nonce auth_time acr amr azp at_hash c_hash s_hash sid events'.split(' '),
);

const IDENTITY_SCOPE = {
  /** Shown on the consent page, such as "See the groups that you are in". */
  description: text('describe in a sentence what users agree to, such as "See the groups that you are in"'),
  /** The claims that an app with this scope gets, such as `['groups']`. */
  claims: list(
    "list the names of the claims, such as ['groups']; those that the server sets itself, such as sub and exp, are none of them",
    (name) => name !== '' && !RESERVED.has(name),
    1,
  ),
};

/** A scope of OpenID Connect: what it tells an app about the user. */
export interface IdentityScope extends Given<typeof IDENTITY_SCOPE> {}

/** The app that claims are for, and the scopes that the user has granted it. */
export interface OpenIdClaimsContext {
  readonly client: Client;
  readonly scopes: readonly string[];
}

/** Returns claims about a user by their names, or a promise of them. */
export type OpenIdClaims<U extends User = User> = (
  user: U,
  context: OpenIdClaimsContext,
) => Readonly<Record<string, unknown>> | undefined | Promise<Readonly<Record<string, unknown>> | undefined>;

/** How a user has logged in (OpenID Connect Core 1.0 section 2). */
export interface Authentication {
  /** The level of assurance: the claim `acr`. */
  readonly acr?: string | undefined;
  /** The methods, such as `pwd` and `otp` (RFC 8176): the claim `amr`. */
  readonly amr?: readonly string[] | undefined;
}

const ownScopes: Check<
  Readonly<Record<string, IdentityScope>>,
  ReadonlyMap<string, Values<typeof IDENTITY_SCOPE>>
> = (place, given) => {
  if (!isObject(given))
    throw new ConfigError(
      place,
      "give an object with the scopes by name, such as { groups: { description, claims: ['groups'] } }",
    );
  return new Map(
    Object.entries(given).map(([name, scope]) => {
      checkName(`${place}.${name}`, name);
      if (STANDARD_SCOPES.has(name))
        throw new ConfigError(`${place}.${name}`, 'this scope is defined already; choose another name');
      return [name, readOptions(IDENTITY_SCOPE, scope, `${place}.${name}`)];
    }),
  );
};

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is in the type of the result
function openIdOptions<U extends User>() {
  return {
    /**
     * Returns claims about a user, such as `({ groups }) => ({ groups })`, beside those that the user object has. An app gets those that
     * the granted scopes name, and no others. Called for each userinfo request, and for an ID token that has such claims. When it throws,
     * the app gets `server_error`, and the code or the refresh token can be used again.
     * @default the members of the user that are named as a claim and have its type: `name`, `picture`, `locale` (strings), `email` (a
     * string) and `email_verified` (a boolean)
     */
    claims: optional(fn<OpenIdClaims<NoInfer<U>>>()),
    /**
     * Scopes besides `openid`, `profile` and `email`, with the claims of each.
     *
     *     scopes: { groups: { description: 'See the groups that you are in', claims: ['groups'] } }
     *
     * @default {}
     */
    scopes: optional(ownScopes, {}),
    /**
     * Says how a user has logged in, when a login session begins: `(ctx, user) => ({ acr: 'urn:example:mfa', amr: ['pwd', 'otp'] })`.
     * Without it, ID tokens have neither claim, and a request for which a certain `acr` is essential is refused.
     */
    authentication:
      optional(
        fn<
          (ctx: Context, user: NoInfer<U>) => Authentication | undefined | Promise<Authentication | undefined>
        >(),
      ),
    /**
     * Whether the claims of the scopes are in the ID token too, because many apps do not ask the userinfo endpoint (Auth.js). Each is as
     * old as the token. With `false`, an app gets single ones by the parameter `claims` (section 5.5).
     * @default true
     */
    idTokenClaims: optional(boolean, true),
    /** How long an ID token is valid: apps check it once, when they get it. @default '1 hour' */
    idTokenLifetime: optional(lifetimeCheck, '1 hour'),
    /**
     * The algorithm that signs ID tokens, whatever access tokens are signed with. Many apps accept `RS256` only, which OpenID Connect
     * requires of each server.
     * @default 'RS256'
     */
    algorithm: optional(signingAlgorithm, 'RS256'),
  };
}

/** What apps learn of users who sign in to them with their account here (OpenID Connect Core 1.0). */
export interface OpenIdOptions<U extends User = User> extends Given<ReturnType<typeof openIdOptions<U>>> {}

/** The same, checked and with the defaults. */
export interface CheckedOpenId<U extends User = User> extends Values<ReturnType<typeof openIdOptions<U>>> {}

/** `undefined`: off. */
export function openid<U extends User>(
  place: string,
  given: boolean | OpenIdOptions<U>,
): CheckedOpenId<U> | undefined {
  if (given === false) return undefined;
  if (given !== true && !isObject(given))
    throw new ConfigError(
      place,
      'give true, or an object such as { claims: (user) => ({ groups: user.groups }) }',
    );
  return readOptions(openIdOptions<U>(), given === true ? {} : given, place);
}

/** OpenID Connect Core 1.0 section 5.4. */
export const STANDARD_SCOPES: ReadonlyMap<string, Values<typeof IDENTITY_SCOPE>> = new Map([
  ['openid', { description: 'Sign you in', claims: [] }],
  [
    'profile',
    {
      description: 'See your name, your picture and your language',
      claims:
        'name family_name given_name middle_name nickname preferred_username profile picture website gender birthdate zoneinfo locale updated_at'.split(
          ' ',
        ),
    },
  ],
  ['email', { description: 'See your email address', claims: ['email', 'email_verified'] }],
]);

/** The path of the userinfo endpoint, below the mount path. */
export const USERINFO = '/oauth/userinfo';

/** OpenID Connect, with its defaults. */
export interface ResolvedOpenId {
  /** The URL of the userinfo endpoint: the audience of tokens that may read it, and the name of it in consents. */
  readonly resource: string;
  /** All scopes about who the user is, by name. They permit nothing at an API, and no scope of an API has the name of one. */
  readonly scopes: ReadonlyMap<string, Scope<never> & { readonly claims: readonly string[] }>;
  /** `claims` and `authentication` are called with users of the option `users` only, which makes dropping the type parameter safe. */
  readonly claims: OpenIdClaims | undefined;
  readonly authentication:
    | ((ctx: Context, user: User) => Authentication | undefined | Promise<Authentication | undefined>)
    | undefined;
  readonly idTokenClaims: boolean;
  readonly idTokenLifetime: Seconds;
  readonly algorithm: SigningAlgorithm;
}

/** All scopes of OpenID Connect: those that it defines, and those of the host. They permit nothing at an API. */
export function identityScopes({ scopes }: Pick<CheckedOpenId, 'scopes'>): ResolvedOpenId['scopes'] {
  return new Map(
    [...STANDARD_SCOPES, ...scopes].map(([name, scope]) => [
      name,
      { ...scope, permissions: [], optional: false },
    ]),
  );
}

/**
 * @param declared - the option `openid`. `undefined`: off
 * @param issuer - below which the userinfo endpoint is
 * @param apis - with their scopes
 * @throws ConfigError when an API has a scope with a name of OpenID Connect
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- without it, no function of the host's users is accepted
export function resolveOpenId<U extends User>(
  declared: CheckedOpenId<U> | undefined,
  issuer: string,
  apis: Iterable<{ readonly resource: string; readonly scopes: ReadonlyMap<string, unknown> }>,
): ResolvedOpenId | undefined {
  if (!declared) return undefined;
  const scopes = identityScopes(declared);
  for (const api of apis) {
    const taken = [...scopes.keys()].find((name) => api.scopes.has(name));
    if (taken !== undefined)
      throw new ConfigError(
        'openid',
        `rename the scope "${taken}" of the API ${api.resource}: with this option the name stands for a part of who the user is`,
      );
  }
  return { ...(declared as unknown as ResolvedOpenId), resource: issuer + USERINFO, scopes };
}
