import type { Gate, PermissionSource } from '../contracts.ts';
import { ConfigError } from '../errors.ts';

/** A permission in words: what it allows, or that and the message for a caller who lacks it. */
export type PermissionDefinition =
  | string
  | {
      /** Shown where permissions are assigned, such as "View schools". */
      readonly description: string;
      /** @default for `view_schools`: 'Missing permission to view schools.' */
      readonly message?: string | undefined;
    };

/** What `defineGate()` takes. */
export interface GateDefinition<P extends string, R extends string> {
  /** Every permission there is, by name. A name is lower-case words joined by underscores: `view_schools`. */
  readonly permissions: Readonly<Record<P, PermissionDefinition>>;
  /** Sets of permissions, by name, for users and clients alike. Names as for permissions. @default {} */
  readonly roles?: Readonly<Record<R, readonly NoInfer<P>[]>>;
}

/**
 * Defines who can do what: the permissions there are, and the roles that bundle them.
 *
 * A misspelt permission in a role does not compile. The result cannot be changed.
 *
 * @throws ConfigError naming the permission or role at fault
 */
export function defineGate<const P extends string, const R extends string = never>(
  definition: GateDefinition<P, R>,
): Gate<P, R> {
  const permissionNames = namesOf('gate.permissions', definition.permissions);
  const has = (name: string): name is P => permissionNames.has(name);
  // Objects without a prototype: a caller may ask for any name, `constructor` too.
  const permissions: Record<P, Words> = Object.create(null);
  for (const name of [...permissionNames].filter(has)) {
    permissions[name] = describe(name, definition.permissions[name]);
  }

  const given: Partial<Record<R, readonly P[]>> = definition.roles ?? {};
  const roleNames = namesOf('gate.roles', given);
  const isRole = (name: string): name is R => roleNames.has(name);
  const roles: Record<R, readonly P[]> = Object.create(null);
  for (const name of [...roleNames].filter(isRole)) {
    roles[name] = checkMembers(`gate.roles.${name}`, given[name], has);
  }

  return Object.freeze({
    permissions: Object.freeze(permissions),
    roles: Object.freeze(roles),
    has,
    effective(held: Parameters<Gate['effective']>[0]) {
      const effective = new Map<P, PermissionSource>();
      for (const permission of held.permissions.filter(has)) effective.set(permission, 'direct');
      for (const role of held.roles.filter(isRole)) {
        for (const permission of roles[role]) {
          if (!effective.has(permission)) effective.set(permission, `role:${role}`);
        }
      }
      return effective;
    },
  });
}

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

function namesOf(option: string, value: unknown): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(option, 'pass an object with the names as keys');
  }
  const names = Object.keys(value);
  for (const name of names) {
    if (!NAME.test(name)) {
      throw new ConfigError(
        `${option}.${name}`,
        'write the name as lower-case words joined by underscores, such as view_schools',
      );
    }
  }
  return new Set(names);
}

interface Words {
  readonly description: string;
  readonly message: string;
}

function describe(name: string, definition: unknown): Words {
  const words = typeof definition === 'string' ? { description: definition } : definition;
  if (!isDescribed(words)) {
    throw new ConfigError(
      `gate.permissions.${name}`,
      "describe it in words: 'View schools', or { description: 'View schools', message: 'You may not view schools.' }",
    );
  }
  const { description, message = `Missing permission to ${name.replaceAll('_', ' ')}.` } = words;
  return Object.freeze({ description, message });
}

function isDescribed(value: unknown): value is Exclude<PermissionDefinition, string> {
  if (typeof value !== 'object' || value === null || !('description' in value)) return false;
  return (
    isText(value.description) &&
    (!('message' in value) || value.message === undefined || isText(value.message))
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function checkMembers<P extends string>(
  option: string,
  members: unknown,
  has: (name: string) => name is P,
): readonly P[] {
  if (!Array.isArray(members)) throw new ConfigError(option, 'list the permissions of the role in an array');
  const names = members.map(String);
  const unknown = names.find((name) => !has(name));
  if (unknown !== undefined) {
    throw new ConfigError(
      option,
      `"${unknown}" is not one of gate.permissions; add it there or correct it here`,
    );
  }
  return Object.freeze([...new Set(names.filter(has))]);
}
