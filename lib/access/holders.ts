import type { Assignment, AssignmentStore, User, UserStore } from '../contracts.ts';

/** Where to read people and what they hold. */
export interface HolderPorts<U extends User = User> {
  readonly users: Pick<UserStore<U>, 'find' | 'permissions' | 'roles'>;
  /** Asked only when the user store keeps neither permissions nor roles. */
  readonly assignments: Pick<AssignmentStore, 'find'>;
}

/** People, and what they hold. */
export interface Holders<U extends User = User> {
  /** Finds a user together with what they hold. */
  find(id: string): Promise<{ readonly user: U; readonly assignment: Assignment } | undefined>;
  /** What a user holds. */
  heldBy(user: U): Promise<Assignment>;
}

/** Tells whether the user store itself says who holds what; otherwise `auth.assignments` does. */
export function keepsAssignments(users: Pick<UserStore, 'permissions' | 'roles'>): boolean {
  return users.permissions !== undefined || users.roles !== undefined;
}

/** Reads what people hold from where it is kept: the host's user store, or else the storage. */
export function createHolders<U extends User>({ users, assignments }: HolderPorts<U>): Holders<U> {
  if (!keepsAssignments(users)) {
    return {
      async find(id) {
        const [user, assignment] = await Promise.all([users.find(id), assignments.find(id)]);
        return user && { user, assignment };
      },
      heldBy: async (user) => assignments.find(user.id),
    };
  }

  async function heldBy(user: U): Promise<Assignment> {
    const [roles, permissions] = await Promise.all([
      users.roles?.(user) ?? [],
      users.permissions?.(user) ?? [],
    ]);
    return { roles, permissions };
  }

  return {
    async find(id) {
      const user = await users.find(id);
      return user && { user, assignment: await heldBy(user) };
    },
    heldBy,
  };
}
