import type {
  Assignment,
  Assignments,
  AssignmentStore,
  AuditLog,
  Gate,
  UserStore,
} from '../contracts/index.ts';
import { AssignmentInvalidError, ConfigError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { userStoreAssigns } from './principal.ts';

/** What `createAssignments()` takes. */
export interface AssignmentsOptions {
  readonly users: Pick<UserStore, 'permissions' | 'roles'>;
  readonly gate: Pick<Gate, 'has' | 'roles'>;
  readonly store: AssignmentStore;
  readonly audit: Pick<AuditLog, 'record'>;
  /** Called after each change of a user's assignment. */
  readonly onChange: (userId: string) => void;
}

/** Manages the roles and permissions of users that are stored in the storage. */
export function createAssignments({ users, gate, store, audit, onChange }: AssignmentsOptions): Assignments {
  // Otherwise a role that is removed here would still be granted by the user store.
  function checkInUse(): void {
    if (userStoreAssigns(users)) {
      throw new ConfigError(
        'auth.assignments',
        'not in use, because the user store has permissions() or roles(); change them there, or leave both out',
      );
    }
  }

  function publishChange(userId: string, { roles, permissions }: Assignment): void {
    onChange(userId);
    audit.record({ type: 'assignment_changed', userId, roles, permissions });
  }

  return {
    async find(userId) {
      checkInUse();
      return store.find(userId);
    },
    async assign(userId, given) {
      checkInUse();
      const assignment = checkAssignment(userId, given, gate);
      await store.save(userId, assignment);
      publishChange(userId, assignment);
    },
    async delete(userId) {
      checkInUse();
      const deleted = await store.delete(userId);
      if (deleted) publishChange(userId, { roles: [], permissions: [] });
      return deleted;
    },
  };
}

/**
 * Checks an assignment, and removes repeated names.
 *
 * @throws AssignmentInvalidError with one entry for each unknown name or wrong type
 */
function checkAssignment(userId: unknown, given: unknown, gate: AssignmentsOptions['gate']): Assignment {
  const errors: FieldError[] = [];
  if (typeof userId !== 'string' || userId === '' || userId.length > 255) {
    errors.push(fieldError('userId', 'user_id_length', { most: 255 }));
  }
  const { roles, permissions, ...others } = readFields(given, errors);
  for (const field of Object.keys(others)) {
    errors.push(fieldError(field, 'assignment_field'));
  }
  const assignment = {
    roles: readNames(roles, 'role', (name) => Object.hasOwn(gate.roles, name), errors),
    permissions: readNames(permissions, 'permission', (name) => gate.has(name), errors),
  };
  if (errors.length > 0) throw new AssignmentInvalidError(errors);
  return assignment;
}

function readFields(given: unknown, errors: FieldError[]): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return { ...given };
  errors.push(fieldError('assignment', 'assignment_form'));
  return {};
}

function readNames(
  given: unknown,
  kind: 'role' | 'permission',
  isKnown: (name: string) => boolean,
  errors: FieldError[],
): readonly string[] {
  if (given === undefined) return [];
  const field = `${kind}s`;
  if (!Array.isArray(given) || !given.every((name) => typeof name === 'string')) {
    errors.push(fieldError(field, 'not_strings'));
    return [];
  }
  const names = [...new Set(given)];
  for (const name of names) {
    if (!isKnown(name)) errors.push(fieldError(field, `unknown_${kind}`, { name }));
  }
  return names;
}
