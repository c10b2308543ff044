import { types } from 'node:util';

import type { Principal, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';

/**
 * Decides whether a principal that has a permission may use it on an object. `can()` throws what the rule throws.
 *
 * Rules are called for users and clients: `principal.user` is undefined for a client. For members of your own user type,
 * annotate the principal: `(principal: Principal<string, Person>, school: School) => ...`.
 */
export type Rule<P extends string, T, U extends User = User> = (
  principal: Principal<P, U>,
  object: T,
) => boolean;

/** The rules of a gate, by permission. `S` maps each permission to the type of its object, `U` is the host's user type. */
export type Rules<P extends string, S extends object, U extends User> = {
  readonly [K in keyof S]: K extends P ? Rule<P, S[K], U> : never;
} & Readonly<Record<string, Rule<P, never, U>>>; // From the mapped type alone, TypeScript infers S but not U.

/** A rule whose return value is checked to be a boolean. */
type CheckedRule = (principal: Principal, object: unknown) => boolean;

/**
 * Checks the rules of a gate, and wraps each so that its return value is checked.
 *
 * @throws ConfigError naming the rule at fault
 */
export function checkRules(given: unknown, has: (name: string) => boolean): ReadonlyMap<string, CheckedRule> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError('gate.rules', 'pass an object with the permissions as keys');
  }
  return new Map(
    Object.entries(given).map(([permission, rule]) => {
      const option = `gate.rules.${permission}`;
      if (!has(permission)) {
        throw new ConfigError(
          option,
          'there is no such permission; add it to gate.permissions or correct it here',
        );
      }
      if (OWN_PERMISSIONS.has(permission)) {
        throw new ConfigError(
          option,
          'the server asks for this permission itself, without an object: leave the rule out, or take another name',
        );
      }
      if (typeof rule !== 'function' || types.isAsyncFunction(rule) || types.isGeneratorFunction(rule)) {
        throw new ConfigError(option, ASK_FOR_FUNCTION);
      }
      return [permission, checked(option, rule as Rule<string, unknown>)];
    }),
  );
}

/** The permissions that the server asks for, in the developer area, of personal access tokens and at introspection. */
const OWN_PERMISSIONS: ReadonlySet<string> = new Set([
  'manage_apps',
  'manage_all_apps',
  'use_personal_tokens',
  'introspect_tokens',
]);

const ASK_FOR_FUNCTION =
  'pass a function that takes the principal and the object and returns true or false at once; read what it needs before can()';

function checked(option: string, rule: (principal: Principal, object: unknown) => unknown): CheckedRule {
  return (principal, object) => {
    // A missing object is always refused: a rule that compares two absent members would return true.
    if (object === undefined || object === null) return false;
    const answer = rule(principal, object);
    if (typeof answer === 'boolean') return answer;
    // The promise is not awaited, and an unhandled rejection ends the process.
    if (types.isPromise(answer)) answer.catch(() => {});
    throw new ConfigError(option, ASK_FOR_FUNCTION);
  };
}
