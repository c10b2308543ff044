import { isStrings, list, unknownNames } from '../clients/fields.ts';
import type {
  Assignment,
  Assignments,
  AssignmentStore,
  AuditLog,
  Gate,
  UserStore,
} from '../contracts/index.ts';
import { fieldError } from '../contracts/field-errors.ts';
import { AssignmentInvalidError, ConfigError } from '../errors.ts';
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
  // Without this check, the user store would still grant a role that is removed here.
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
    async set(userId, given) {
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
  const isId = typeof userId === 'string' && userId !== '' && userId.length <= 255;
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const fields: Readonly<Record<string, unknown>> = isObject ? { ...given } : {};
  const { roles, permissions, ...others } = fields;
  const assignment = { roles: list(roles), permissions: list(permissions) };
  const errors = [
    ...(isId ? [] : [fieldError('userId', 'user_id_length', { most: 255 })]),
    ...(isObject ? [] : [fieldError('assignment', 'assignment_form')]),
    ...Object.keys(others).map((field) => fieldError(field, 'assignment_field')),
    ...['roles', 'permissions']
      .filter((field) => fields[field] !== undefined && !isStrings(fields[field]))
      .map((field) => fieldError(field, 'not_strings')),
    ...unknownNames(assignment, { gate }),
  ];
  if (errors.length > 0) throw new AssignmentInvalidError(errors);
  return assignment;
}
