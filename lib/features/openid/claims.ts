import { ConfigError } from '../../errors.ts';
import type { Client, User } from '../../contracts/index.ts';
import { isObject } from '../../options/declare.ts';
import type { OpenIdSettings } from './options.ts';

/** The claims about a user that a client gets with scopes, by their names. */
export type FindClaims = (
  user: User,
  about: { readonly client: Client; readonly scopes: readonly string[] },
  isWanted?: (name: string) => boolean,
) => Promise<Readonly<Record<string, unknown>>>;

/**
 * Makes the function that finds claims about users, for ID tokens and for userinfo responses alike: those that the granted scopes
 * name (OpenID Connect Core 1.0 section 5.4), of the user and of the option `claims`.
 */
export function createFindClaims({
  claims: hostClaims,
  scopes: known,
}: Pick<OpenIdSettings, 'claims' | 'scopes'>): FindClaims {
  return async (user, { client, scopes }, isWanted = () => true) => {
    const names = scopes.flatMap((scope) => known.get(scope)?.claims ?? []).filter(isWanted);
    if (names.length === 0) return {};
    const ofHost = hostClaims && checkClaims(await hostClaims(user, { client, scopes }));
    const ofUser = claimsOfUser(user);
    // The user object's `email_verified` says nothing about another address.
    if (ofHost && Object.hasOwn(ofHost, 'email')) delete ofUser['email_verified'];
    const all: Readonly<Record<string, unknown>> = { ...ofUser, ...ofHost };
    const found = Object.fromEntries(
      names.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]]),
    );
    // Relying parties grant access by an address that counts as verified, so only the host decides that it does.
    if (typeof found['email_verified'] === 'boolean' && typeof found['email'] === 'string') return found;
    const { email_verified: _unknown, ...others } = found;
    return others;
  };
}

/** The members of a user of the host that are claims, each of the right type (section 5.1). */
function claimsOfUser(user: User): Record<string, unknown> {
  const members = user as User & Readonly<Record<string, unknown>>;
  const texts = ['name', 'email', 'picture', 'locale'].filter((name) => typeof members[name] === 'string');
  return Object.fromEntries([...texts, 'email_verified'].map((name) => [name, members[name]]));
}

function checkClaims(claims: unknown): Readonly<Record<string, unknown>> | undefined {
  if (claims === undefined || isObject(claims)) return claims;
  throw new ConfigError('openid().claims', "return an object such as { groups: ['staff'] }, or undefined");
}
