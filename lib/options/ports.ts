import type { Interactions, Pages, Storage, User, UserStore } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { checkSecrets } from './checks.ts';

/** Checks that the objects of the host have the required methods. */

export function checkUsers<U extends User>(users: UserStore<U> | undefined): UserStore<U> {
  if (typeof users?.authenticate !== 'function' || typeof users.find !== 'function') {
    throw new ConfigError(
      'users',
      'pass an object with the methods authenticate(login, password) and find(id)',
    );
  }
  for (const name of ['permissions', 'roles'] as const) {
    if (users[name] === undefined) refuseMisspelt(users, name);
    else if (typeof users[name] !== 'function') {
      throw new ConfigError('users', `make ${name}(user) a method, or leave it out`);
    }
  }
  return users;
}

/**
 * Refuses a method whose name differs from an absent one in case, doubled letters or the plural only. Other members are the
 * host's own; but without this method, permissions are stored by Gatehouse and every user has none.
 */
function refuseMisspelt(users: object, name: 'permissions' | 'roles'): void {
  const misspelt = methodsOf(users).find((method) => simplified(method) === simplified(name));
  if (misspelt === undefined) return;
  throw new ConfigError(
    `users.${misspelt}`,
    `name the method ${name}(user), or pass an object without it if roles and permissions are stored by this server`,
  );
}

function simplified(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/(.)\1+/g, '$1')
    .replace(/s$/, '');
}

/** The names of an object's methods, also of those of its class. */
function methodsOf(object: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(object);
  const inherited = prototype instanceof Object && prototype !== Object.prototype ? methodsOf(prototype) : [];
  // Not by `object[name]`, which would run the getters of a prototype.
  const own = Object.entries(Object.getOwnPropertyDescriptors(object));
  const methods = own.filter(([, { value }]) => typeof value === 'function');
  return methods.map(([name]) => name).concat(inherited);
}

export function checkStorage(storage: Storage | undefined): Storage {
  if (typeof storage?.pendingMigrations === 'function' && typeof storage.credentials?.redeem === 'function') {
    if (typeof storage.durable === 'boolean') return storage;
    throw new ConfigError(
      'storage',
      'set its member durable to true if its data outlives the process, else to false',
    );
  }
  throw new ConfigError(
    'storage',
    'pass knexStorage(knex) from koa-gatehouse/adapters/knex, or memoryStorage() from koa-gatehouse/adapters/memory for tests and first steps',
  );
}

export function checkInteractions(interactions: Interactions): Interactions {
  if (typeof interactions === 'function') return interactions;
  throw invalidPages();
}

/** Checks the result of the host's `interactions` function. */
export function checkPages(pages: Pages | undefined): Pages {
  if (typeof pages?.middleware === 'function' && typeof pages.error === 'function') return pages;
  throw invalidPages();
}

function invalidPages(): ConfigError {
  return new ConfigError(
    'interactions',
    'pass pages() from koa-gatehouse/interactions or a function of your own, or leave it out',
  );
}

export function checkGate<G extends { readonly authorize: unknown }>(gate: G | undefined): G {
  if (typeof gate?.authorize === 'function') return gate;
  throw new ConfigError('gate', 'pass defineGate({ permissions, roles }), or leave it out');
}

const OPTION = 'keyEncryptionKey';

/** Returns the keys, newest first; an empty list when the server's own keys are stored unencrypted. */
export function checkKeyEncryptionKey(given: unknown): readonly string[] {
  return given === undefined || given === false ? [] : checkSecrets(OPTION, [given].flat());
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
    OPTION,
    "give a random string of at least 32 characters that is not in the database (on the command line KEY_ENCRYPTION_KEY), or false to store the server's keys unencrypted; then anyone who reads the database or a backup can make any token",
  );
}
