/** Checks that the objects of the host have the required methods. */
import { inspect } from 'node:util';

import type { Gate, Interactions, Logger, Pages, Storage, User, UserStore } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { Check } from './declare.ts';

export function userStore<U extends User>(place: string, given: UserStore<U>): UserStore<U> {
  if (typeof given?.find !== 'function' || !hasMethodOrNone(given, 'verifyPassword')) {
    throw new ConfigError(
      place,
      'pass an object with the methods verifyPassword(login, password) and find(id)',
    );
  }
  for (const name of ['permissions', 'roles'] as const) {
    if (given[name] === undefined) refuseMisspelt(given, name);
    else if (!hasMethodOrNone(given, name)) {
      throw new ConfigError(place, `make ${name}(user) a method, or leave it out`);
    }
  }
  if (!hasMethodOrNone(given, 'username'))
    throw new ConfigError(place, 'make username(user) a method, or leave it out');
  return given;
}

function hasMethodOrNone(users: object, name: keyof UserStore): boolean {
  const member: unknown = Reflect.get(users, name);
  return member === undefined || typeof member === 'function';
}

/**
 * Refuses a user whose id is not a string. A user store or `login.currentUser` may pass on the number of a row, and the engine's error
 * for that names neither the user nor the option.
 *
 * @throws ConfigError
 */
export function requireUserId(place: string, { id }: User): void {
  if (typeof id === 'string' && id !== '') return;
  throw new ConfigError(
    place,
    `give each user an id that is a string and not empty, such as String(row.id); this one is ${inspect(id)}`,
  );
}

/**
 * Refuses a method whose name differs from an absent one in case, doubled letters or the plural only. Other members are the host's own;
 * but without this method, Gatehouse stores the permissions, and every user has none.
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
  // The descriptors are read instead of `object[name]`, which would run the getters of a prototype.
  const own = Object.entries(Object.getOwnPropertyDescriptors(object));
  const methods = own.filter(([, { value }]) => typeof value === 'function');
  return methods.map(([name]) => name).concat(inherited);
}

export const storage: Check<Storage> = (place, given) => {
  if (typeof given?.pendingMigrations === 'function') return given;
  throw new ConfigError(
    place,
    'pass knexStorage(knex) from koa-gatehouse/adapters/knex, sqlStorage(pool) from koa-gatehouse/adapters/sql, or memoryStorage() from koa-gatehouse/adapters/memory for tests and first steps',
  );
};

export const interactions: Check<Interactions> = (place, given) => {
  if (typeof given === 'function') return given;
  throw invalidPages(place);
};

/** Checks the result of the host's `interactions` function. */
export function checkPages(pages: Pages | undefined): Pages {
  if (typeof pages?.middleware === 'function' && typeof pages.error === 'function') return pages;
  throw invalidPages('interactions');
}

function invalidPages(place: string): ConfigError {
  return new ConfigError(
    place,
    'pass pages() from koa-gatehouse/interactions or a function of your own, or leave it out',
  );
}

export function checkGate<P extends string, R extends string, S extends object>(
  place: string,
  given: Gate<P, R, S>,
): Gate<P, R, S> {
  if (typeof given?.authorize === 'function') return given;
  throw new ConfigError(place, 'pass defineGate({ permissions, roles }), or leave it out');
}

export const logger: Check<Logger> = (place, given) => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    if (typeof given?.[level] !== 'function') {
      throw new ConfigError(
        place,
        `pass an object with debug, info, warn and error, as pino has; ${level} is missing`,
      );
    }
  }
  return safeLogger(given);
};

/** Wraps a logger so that its errors are ignored: a full disk under the log must not fail requests. */
function safeLogger(given: Logger): Logger {
  const safe = (level: keyof Logger) =>
    function write(fields: object, message: string): void {
      try {
        given[level](fields, message);
      } catch {
        // The failed logger is the only place where the error could be reported.
      }
    };
  return { debug: safe('debug'), info: safe('info'), warn: safe('warn'), error: safe('error') };
}
