import { GATE_NAME } from '../contracts/gate-names.ts';
import type { Gate, PermissionSource, Principal, User } from '../contracts/index.ts';
import { insufficientScope } from './challenge.ts';
import { beginStackAt, ConfigError, missingPermission, PermissionMissingError } from '../errors.ts';
import { checkNames, optional, readOptions, unchecked } from '../options/declare.ts';
import type { Given } from '../options/declare.ts';
import { checkRules } from './rules.ts';
import type { Rules } from './rules.ts';

/** The description of a permission, or the description and the message for a caller who lacks the permission. */
export type PermissionDefinition =
  | string
  | {
      /** Shown where permissions are assigned, such as "View schools". */
      readonly description: string;
      /** @default for `view_schools`: 'Missing permission to view schools.'; for `schools.view`: 'Missing permission: schools.view.' */
      readonly message?: string | undefined;
    };

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- they are in the type of the result
function gateMembers<P extends string, R extends string, S extends object, U extends User>() {
  return {
    /** All permissions, by name: lower-case words joined by underscores, dots or colons, such as `view_schools` and `schools.view`. */
    permissions: unchecked<Readonly<Record<P, PermissionDefinition>>>,
    /** Sets of permissions, by name, for users and clients alike. The names have the same form as those of permissions. @default none */
    roles: optional(unchecked<Readonly<Record<R, readonly NoInfer<P>[]>>>),
    /**
     * Limits a permission to certain objects, by the permission's name: `edit_school: (principal, school: School) => ...`. A
     * rule is called only when the principal has the permission. It returns `true` or `false`, not a promise. Routes and actions that
     * require such a permission have to say which object: see `auth.requires()`, and `object` of `defineAction()`. @default none
     */
    rules: optional(unchecked<Rules<NoInfer<P>, S, U>>),
  };
}

/** What `defineGate()` takes. */
export interface GateDefinition<
  P extends string,
  R extends string,
  S extends object = object,
  U extends User = User,
> extends Given<ReturnType<typeof gateMembers<P, R, S, U>>> {}

/**
 * Defines who can do what: the permissions, the roles that contain them, and the rules that limit them to objects.
 *
 * A misspelt permission in a role or a rule does not compile. The result cannot be changed.
 *
 *     const gate = defineGate({
 *       permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
 *       roles: { registrar: ['view_schools', 'edit_school'] },
 *       rules: { edit_school: (principal, school: School) => principal.user?.id === school.registrarId },
 *     });
 *
 * @throws ConfigError naming the permission, role or rule at fault
 */
export function defineGate<
  const P extends string,
  const R extends string = never,
  S extends object = object,
  U extends User = User,
>(definition: GateDefinition<P, R, S, U>): Gate<P, R, S> {
  readOptions(gateMembers<P, R, S, U>(), definition, 'gate');
  const permissionNames = checkedNames('gate.permissions', definition.permissions);
  const has = (name: string): name is P => permissionNames.has(name);
  // No prototype: callers may look up any name, including `constructor`.
  const permissions: Record<P, PermissionText> = Object.create(null);
  for (const name of [...permissionNames].filter(has)) {
    permissions[name] = permissionText(name, definition.permissions[name]);
  }

  const given: Partial<Record<R, readonly P[]>> = definition.roles ?? {};
  const roleNames = checkedNames('gate.roles', given);
  const isRole = (name: string): name is R => roleNames.has(name);
  const roles: Record<R, readonly P[]> = Object.create(null);
  for (const name of [...roleNames].filter(isRole)) {
    roles[name] = checkMembers(`gate.roles.${name}`, given[name], has);
  }

  const rules = checkRules(definition.rules ?? {}, has);

  // A rest parameter distinguishes an object that is `undefined` from a call without an object.
  function can(principal: Principal, permission: P, ...object: readonly unknown[]): boolean {
    const hasPermission = principal.permissions.has(permission);
    if (object.length === 0) return hasPermission;
    const rule = rules.get(permission);
    if (!rule) {
      throw new ConfigError(
        `can('${permission}', object)`,
        `the permission has no rule; add gate.rules.${permission}, or leave the object out`,
      );
    }
    return hasPermission && rule(principal, object[0]);
  }

  return Object.freeze({
    permissions: Object.freeze(permissions),
    roles: Object.freeze(roles),
    has,
    hasRule: (permission: string) => rules.has(permission),
    effectivePermissions(assignment: Parameters<Gate['effectivePermissions']>[0]) {
      const effective = new Map<P, PermissionSource[]>();
      for (const permission of assignment.permissions.filter(has)) effective.set(permission, [DIRECT]);
      for (const role of new Set(assignment.roles.filter(isRole))) {
        const source: PermissionSource = { type: 'role', role };
        for (const permission of roles[role]) {
          const sources = effective.get(permission);
          if (sources) sources.push(source);
          else effective.set(permission, [source]);
        }
      }
      return effective;
    },
    can,
    authorize(principal: Principal, permission: P, ...object: readonly unknown[]) {
      const text: PermissionText | undefined = permissions[permission];
      if (!text) {
        throw new ConfigError(
          `authorize('${permission}')`,
          'the gate has no such permission; define it or correct the name',
        );
      }
      if (!can(principal, permission, ...object)) {
        const missing = principal.permissions.has(permission)
          ? undefined
          : insufficientScope(principal, [permission]);
        throw new PermissionMissingError(permission, text.message, missing);
      }
    },
  });
}
beginStackAt(defineGate);

const DIRECT: PermissionSource = Object.freeze({ type: 'direct' });

function checkedNames(option: string, value: unknown): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(option, 'pass an object with the names as keys');
  }
  const names = Object.keys(value);
  for (const name of names) {
    if (!GATE_NAME.test(name)) {
      throw new ConfigError(
        `${option}.${name}`,
        'write the name as lower-case words joined by underscores, dots or colons, such as view_schools',
      );
    }
  }
  return new Set(names);
}

interface PermissionText {
  readonly description: string;
  readonly message: string;
}

const PERMISSION_TEXT: Readonly<Record<keyof PermissionText, true>> = { description: true, message: true };

function permissionText(name: string, definition: unknown): PermissionText {
  const text = typeof definition === 'string' ? { description: definition } : definition;
  if (!isPermissionText(text)) {
    throw new ConfigError(
      `gate.permissions.${name}`,
      "describe it in words: 'View schools', or { description: 'View schools', message: 'You may not view schools.' }",
    );
  }
  checkNames(text, PERMISSION_TEXT, `gate.permissions.${name}`);
  const { description, message = missingPermission(name) } = text;
  return Object.freeze({ description, message });
}

function isPermissionText(value: unknown): value is Exclude<PermissionDefinition, string> {
  if (typeof value !== 'object' || value === null || !('description' in value)) return false;
  return (
    isNonEmpty(value.description) &&
    (!('message' in value) || value.message === undefined || isNonEmpty(value.message))
  );
}

function isNonEmpty(value: unknown): boolean {
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
