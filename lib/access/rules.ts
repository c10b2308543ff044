import { types } from 'node:util';

import type { Principal, User } from '../contracts.ts';
import { ConfigError } from '../errors.ts';

/**
 * Says whether somebody who holds a permission may use it on a subject. What it throws goes to the caller of `can()`.
 *
 * Users and clients come alike: `principal.user` is undefined for a client. For members of your own user type, annotate
 * the principal: `(principal: Principal<string, Person>, school: School) => ...`.
 */
export type Rule<P extends string, T, U extends User = User> = (
  principal: Principal<P, U>,
  subject: T,
) => boolean;

/** The rules of a gate, by permission. `S` has the type of each one's subject, `U` is the host's user. */
export type Rules<P extends string, S extends object, U extends User> = {
  readonly [K in keyof S]: K extends P ? Rule<P, S[K], U> : never;
} & Readonly<Record<string, Rule<P, never, U>>>; // The mapped type alone would infer S and leave U as it is.

/** A rule that gives a boolean or throws. */
type CheckedRule = (principal: Principal, subject: unknown) => boolean;

/**
 * Checks the rules of a gate, and makes each check what it answers.
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
      if (typeof rule !== 'function' || types.isAsyncFunction(rule) || types.isGeneratorFunction(rule)) {
        throw new ConfigError(option, ASK_FOR_FUNCTION);
      }
      return [permission, checked(option, rule as Rule<string, unknown>)];
    }),
  );
}

const ASK_FOR_FUNCTION =
  'pass a function that takes the principal and the subject and returns true or false at once; read what it needs before can()';

function checked(option: string, rule: (principal: Principal, subject: unknown) => unknown): CheckedRule {
  return (principal, subject) => {
    // Nobody may do anything to what is not there; a rule that compares two absent members would say they may.
    if (subject === undefined || subject === null) return false;
    const answer = rule(principal, subject);
    if (typeof answer === 'boolean') return answer;
    // Nobody will wait for it, and a rejection that nobody handles ends the process.
    if (types.isPromise(answer)) answer.catch(() => {});
    throw new ConfigError(option, ASK_FOR_FUNCTION);
  };
}
