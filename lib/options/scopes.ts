import type { Gate } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { optional, readOptions } from './declare.ts';
import type { Check, Given } from './declare.ts';
import { boolean, list, text } from './values.ts';

function scope<P extends string>() {
  return {
    /** Shown on the consent page, such as "See your schools". */
    description: text('describe in a sentence what users agree to, such as "See your schools"'),
    /** The permissions that a token with this scope is limited to. For several scopes the permissions add up. */
    permissions: permissionNames<P>,
    /**
     * Whether users can decline this scope on the consent page and grant the others. The `scope` of the token response tells the client
     * what was granted (RFC 6749 section 5.1). @default false
     */
    optional: optional(boolean, false),
  };
}

/** A scope: its description for the consent page, and the permissions that it allows. */
export interface Scope<P extends string = string> extends Given<ReturnType<typeof scope<P>>> {}

function permissionNames<P extends string>(place: string, given: readonly P[]): readonly P[] {
  if (Array.isArray(given)) return Object.freeze([...given]);
  throw new ConfigError(place, 'list the permissions that a token with this scope is limited to');
}

/** The scopes of an API, by name. */
export function scopes<P extends string>(
  place: string,
  given: Readonly<Record<string, Scope<P>>>,
): ReadonlyMap<string, Scope<P>> {
  if (!isLiteral(given)) {
    throw new ConfigError(
      place,
      "give an object with the scopes by name, such as { 'schools:read': { description, permissions } }",
    );
  }
  return new Map(
    Object.entries(given).map(([name, one]) => {
      checkScopeName(`${place}.${name}`, name);
      return [name, readOptions(scope<P>(), one, `${place}.${name}`)];
    }),
  );
}

/** @throws ConfigError for a name that no scope can have */
export function checkName(place: string, name: string): void {
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(name)) {
    throw new ConfigError(place, 'a scope name has no spaces, quotes or backslashes (RFC 6749 section 3.3)');
  }
  if (name === 'offline_access') {
    throw new ConfigError(
      place,
      'this name is defined already; clients may request it, and get a refresh token without it too',
    );
  }
}

/** The scope of OpenID Connect. It is reserved even while OpenID Connect is off, because apps that ask for it expect to sign users in. */
const SIGN_IN = 'openid';

function checkScopeName(place: string, name: string): void {
  checkName(place, name);
  if (name !== SIGN_IN) return;
  throw new ConfigError(
    place,
    `this name belongs to OpenID Connect; leave it out, and pass the feature ${SIGN_IN}()`,
  );
}

/** @throws ConfigError for a scope with a permission that the gate does not have */
export function requirePermissions<P extends string>(
  place: string,
  declared: ReadonlyMap<string, Scope<P>>,
  gate: Pick<Gate<P>, 'has'>,
): void {
  for (const [name, { permissions }] of declared) {
    const unknown = permissions.find((permission) => !gate.has(permission));
    if (unknown === undefined) continue;
    throw new ConfigError(
      `${place}.${name}.permissions`,
      `"${String(unknown)}" is not a permission of the gate`,
    );
  }
}

export const scopeNames: Check<readonly string[]> = list(
  "list the names of the scopes, such as ['schools:read']",
);

/** Whether a value is an object such as `{ ... }`, and not an array, a Map or a function. */
export function isLiteral(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object Object]';
}
