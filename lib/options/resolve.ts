import type { Gate, Storage, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { readOptions } from './declare.ts';
import { authServerOptions } from './options.ts';
import { resolveAboutUser } from './about-user.ts';
import type { AuthServerOptions, LoginOptions } from './options.ts';
import { requireUserId } from './ports.ts';
import type { ResolvedOptions } from './resolved-options.ts';
import { resolveResources, scopesOfAll } from './resources.ts';
import type { TokenClaimsFunction } from './tokens.ts';

/**
 * Checks the options, each one and against each other, fills in the defaults and freezes the result.
 *
 * @param emptyGate - the default of the option `gate`
 * @throws ConfigError for the first option that is wrong, with the remedy
 */
export function resolveOptions<
  P extends string,
  R extends string,
  U extends User,
  S extends object = object,
  A extends string = string,
>(given: AuthServerOptions<P, R, U, S, A>, emptyGate: Gate<P, R, S>): ResolvedOptions<P, R, U, S> {
  const options = readOptions(authServerOptions<P, R, U, S, A>(), given);
  const { gate = emptyGate, issuer, login, paths, secrets, storage, tokens } = options;
  const { origin, pathname, protocol } = new URL(issuer);
  const basePath = pathname.replace(/\/+$/, '');
  requireKeyEncryptionKey(given.secrets?.keyEncryptionKey, storage);
  if (login.url !== undefined && !login.currentUser) {
    throw new ConfigError(
      'login.url',
      'also pass login.currentUser, which returns the user who has logged in there',
    );
  }
  if (!options.users.verifyPassword && login.url === undefined) {
    throw new ConfigError(
      'users',
      'add the method verifyPassword(login, password), or set login.url to your own login page',
    );
  }
  const resources = resolveResources(options.resources, {
    gate,
    issuer,
    lifetimes: tokens.lifetimes,
    refreshGrace: tokens.refreshGrace,
    scopes: options.scopes,
  });
  const aboutUser = resolveAboutUser(options.features, issuer, resources.values());
  const scopes = scopesOfAll([...resources.values(), ...(aboutUser ? [aboutUser] : [])]);
  return Object.freeze({
    ...options,
    origin,
    basePath,
    secure: protocol === 'https:',
    gate,
    scopes,
    resources,
    aboutUser,
    login: {
      ...(login as ResolvedOptions<P, R, U, S>['login']),
      currentUser: login.currentUser && withUserId<U>(login.currentUser),
      url: login.url && new URL(login.url, issuer).href,
    },
    tokens: { ...tokens, claims: tokens.claims as TokenClaimsFunction | undefined },
    secrets: { ...secrets, keyEncryptionKey: secrets.keyEncryptionKey ?? [] },
    paths: {
      ...paths,
      mount: paths.mount ?? basePath,
      // The host's own session would log its user in again at once.
      sessions: login.currentUser ? undefined : paths.sessions,
    },
  });
}

/** Wraps `currentUser`, so that it rejects when it returns a user without a usable id. */
function withUserId<U extends User>(
  currentUser: NonNullable<LoginOptions<U>['currentUser']>,
): NonNullable<LoginOptions<U>['currentUser']> {
  return async (ctx) => {
    const user = await currentUser(ctx);
    if (user) requireUserId('login.currentUser', user);
    return user;
  };
}

/**
 * Requires an explicit choice in production before keys are written, because with unencrypted keys read access to the database
 * or a backup is enough to sign tokens.
 *
 * @throws ConfigError in production, when the option is left out and the storage outlives the process
 */
export function requireKeyEncryptionKey(given: unknown, { durable }: Pick<Storage, 'durable'>): void {
  if (given !== undefined || !durable || process.env['NODE_ENV'] !== 'production') return;
  throw new ConfigError(
    'secrets.keyEncryptionKey',
    "give a random string of at least 32 characters that is not in the database (on the command line KEY_ENCRYPTION_KEY), or false to store the server's keys unencrypted; then anyone who reads the database or a backup can make any token",
  );
}

/** Whether a server in production would lose all that it has stored. */
export function isLostInProduction({ durable }: Pick<Storage, 'durable'>): boolean {
  return !durable && process.env['NODE_ENV'] === 'production';
}
