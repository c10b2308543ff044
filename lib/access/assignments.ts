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
  /** Told whose assignment changed, after the change. */
  readonly onChange: (userId: string) => void;
}

/** Manages the roles and permissions that the storage keeps for people. */
export function createAssignments({ users, gate, store, audit, onChange }: AssignmentsOptions): Assignments {
  // Otherwise an administrator would take a role away here, and the user would keep it there.
  function checkInUse(): void {
    if (userStoreAssigns(users)) {
      throw new ConfigError(
        'auth.assignments',
        'not in use, because the user store has permissions() or roles(); change them there, or leave both out',
      );
    }
  }

  function changed(userId: string, { roles, permissions }: Assignment): void {
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
      changed(userId, assignment);
    },
    async delete(userId) {
      checkInUse();
      const deleted = await store.delete(userId);
      if (deleted) changed(userId, { roles: [], permissions: [] });
      return deleted;
    },
  };
}

/** The names of an assignment that a gate knows. */
function checkAssignment(userId: unknown, given: unknown, gate: AssignmentsOptions['gate']): Assignment {
  const mistakes: FieldError[] = [];
  if (typeof userId !== 'string' || userId === '' || userId.length > 255) {
    mistakes.push(fieldError('userId', 'user_id_length', { most: 255 }));
  }
  const { roles, permissions, ...others } = fieldsOf(given, mistakes);
  for (const field of Object.keys(others)) {
    mistakes.push(fieldError(field, 'assignment_field'));
  }
  const assignment = {
    roles: namesOf(roles, 'role', (name) => Object.hasOwn(gate.roles, name), mistakes),
    permissions: namesOf(permissions, 'permission', (name) => gate.has(name), mistakes),
  };
  if (mistakes.length > 0) throw new AssignmentInvalidError(mistakes);
  return assignment;
}

function fieldsOf(given: unknown, mistakes: FieldError[]): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return { ...given };
  mistakes.push(fieldError('assignment', 'assignment_form'));
  return {};
}

function namesOf(
  given: unknown,
  kind: 'role' | 'permission',
  isKnown: (name: string) => boolean,
  mistakes: FieldError[],
): readonly string[] {
  if (given === undefined) return [];
  const field = `${kind}s`;
  if (!Array.isArray(given) || !given.every((name) => typeof name === 'string')) {
    mistakes.push(fieldError(field, 'not_strings'));
    return [];
  }
  const names = [...new Set(given)];
  for (const name of names) {
    if (!isKnown(name)) mistakes.push(fieldError(field, `unknown_${kind}`, { name }));
  }
  return names;
}
