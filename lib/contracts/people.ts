/** A user of the host. Gatehouse reads these members and passes the object on unchanged. */
export interface User {
  /** The `sub` of the user's tokens: 1 to 255 characters, never reused for another user. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** The host's users: finds them, checks their passwords, and reads their roles and permissions. */
export interface UserStore<U extends User = User> {
  /**
   * Checks a login and a password from the login page. Resolves to `undefined` for an unknown login and for a wrong password.
   *
   * Both should take the same time, so that the duration does not reveal which logins exist: hash the password in both cases.
   * @default none, where `login.url` is your own login page: this server then asks for no password
   */
  verifyPassword?(login: string, password: string): Promise<U | undefined>;
  /**
   * Finds a user by id. Resolves to `undefined` for a user who was deleted or may no longer log in; the guard refuses the
   * user's tokens within `tokens.revocationLag`.
   */
  find(id: string): Promise<U | undefined>;
  /**
   * The permissions that the user holds directly.
   * @default none with {@link UserStore.roles}; without both, Gatehouse stores them, and `auth.assignments` changes them
   */
  permissions?(user: U): Promise<readonly string[]>;
  /**
   * The user's roles. The gate defines the permissions of each role.
   * @default none with {@link UserStore.permissions}; without both, Gatehouse stores them, and `auth.assignments` changes them
   */
  roles?(user: U): Promise<readonly string[]>;
  /**
   * What people call the user, such as the name that is typed at the login: `username` of an introspection response (RFC 7662 section
   * 2.2), by which some resource servers look users up. When it returns `undefined`, the response has no such member.
   * @default the response has no such member
   */
  username?(user: U): string | undefined;
}

/** The roles of a user, and the permissions besides those of the roles. */
export interface Assignment<P extends string = string, R extends string = string> {
  readonly roles: readonly R[];
  readonly permissions: readonly P[];
}

/** Stores the role assignments of users, for hosts whose user store has none: the `assignments` of a {@link Storage}. */
export interface AssignmentStore {
  /** The assignment of a user; empty for a user without one. */
  find(userId: string): Promise<Assignment>;
  /** Replaces the assignment of a user. */
  save(userId: string, assignment: Assignment): Promise<void>;
  /** Deletes the assignment of a user. Resolves to `false` when there was none. */
  delete(userId: string): Promise<boolean>;
}

/**
 * The roles and permissions of users, stored by Gatehouse: for a {@link UserStore} without `permissions()` and `roles()`. With one of the
 * two, roles and permissions come from the user store, and every method here throws a `ConfigError`.
 *
 * A change takes effect on this node at once, and on the other nodes within `tokens.revocationLag`.
 */
export interface Assignments<P extends string = string, R extends string = string> {
  /** The roles and permissions of a user; empty for a user without any. */
  find(userId: string): Promise<Assignment>;
  /**
   * Replaces the roles and permissions of a user. A member that is left out becomes empty.
   * @throws ValidationError with one entry per mistake
   */
  set(userId: string, assignment: Partial<Assignment<P, R>>): Promise<void>;
  /**
   * Removes the roles and permissions of a user, such as when the user is deleted. Resolves to `false` when there were none.
   */
  delete(userId: string): Promise<boolean>;
}
