import type { Client, Seconds, User } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import { isObject, optional, readOptions } from '../../options/declare.ts';
import type { Check, Given, Values } from '../../options/declare.ts';
import { lifetimeCheck } from '../../options/lifetimes.ts';
import { checkName } from '../../options/scopes.ts';
import { signingAlgorithm } from '../../options/tokens.ts';
import type { SigningAlgorithm } from '../../options/tokens.ts';
import { boolean, fn, list, text } from '../../options/values.ts';

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
     * Returns claims about a user, such as `({ groups }) => ({ groups })`, besides those of the user object. An app gets only the claims
     * that its granted scopes name. Called for each userinfo request, and for each ID token that has such claims. When it throws, the app
     * gets `server_error`, and the code or the refresh token can be used again.
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
     * Whether the claims of the scopes are in the ID token too: many apps, such as those with Auth.js, do not call the userinfo endpoint.
     * Such a claim is as old as the token. With `false`, an app gets single claims by the parameter `claims` (section 5.5).
     * @default true
     */
    claimsInIdToken: optional(boolean, true),
    /** How long an ID token is valid: apps check it once, when they get it. @default '1 hour' */
    idTokenLifetime: optional(lifetimeCheck, '1 hour'),
    /**
     * The algorithm that signs ID tokens, whichever one signs access tokens. Many apps accept `RS256` only, which OpenID Connect requires
     * of each server.
     * @default 'RS256'
     */
    algorithm: optional(signingAlgorithm, 'RS256'),
  };
}

/** What apps learn of users who sign in to them with their account here (OpenID Connect Core 1.0). */
export interface OpenIdOptions<U extends User = User> extends Given<ReturnType<typeof openIdOptions<U>>> {}

/** The options of `openid()`, checked and with the defaults. */
export interface CheckedOpenId<U extends User = User> extends Values<ReturnType<typeof openIdOptions<U>>> {}

/** @throws ConfigError for a wrong option */
export function readOpenId<U extends User>(given: OpenIdOptions<U>): CheckedOpenId<U> {
  return readOptions(openIdOptions<U>(), given, 'openid()');
}

/** The scopes that OpenID Connect defines (OpenID Connect Core 1.0 section 5.4). */
const STANDARD_SCOPES: ReadonlyMap<string, Values<typeof IDENTITY_SCOPE>> = new Map([
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

/** The scope with which an app signs its user in. */
export const OPENID = 'openid';

/** The path of the userinfo endpoint, below the mount path. */
export const USERINFO = '/oauth/userinfo';

/** The options, complete. */
export interface OpenIdSettings {
  /** All scopes about who the user is, with the claims of each. */
  readonly scopes: ReadonlyMap<string, Values<typeof IDENTITY_SCOPE>>;
  /** Only called with users of the option `users`, so that the type parameter can be dropped safely. */
  readonly claims: OpenIdClaims | undefined;
  readonly claimsInIdToken: boolean;
  readonly idTokenLifetime: Seconds;
  readonly algorithm: SigningAlgorithm;
}

/** All scopes: those that OpenID Connect defines, and those of the host. */
export function complete<U extends User>({ claims, scopes, ...rest }: CheckedOpenId<U>): OpenIdSettings {
  return {
    ...rest,
    claims: claims as OpenIdClaims | undefined,
    scopes: new Map([...STANDARD_SCOPES, ...scopes]),
  };
}
