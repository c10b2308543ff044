/** A person of the host. Gatehouse reads these members and passes the object on as it is. */
export interface User {
  /** Never reused, never empty, at most 255 characters. The `sub` of the user's tokens. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** The host's people: who they are, whether a password is right, what they may do. */
export interface UserStore<U extends User = User> {
  /**
   * Checks a login and a password from the login page.
   *
   * Takes the same time for an unknown login as for a wrong password (hash a dummy), and resolves to `undefined` for both.
   */
  authenticate(login: string, password: string): Promise<U | undefined>;
  /**
   * Finds a user by id. `undefined` for one who is gone or may no longer sign in: their tokens stop working, at the guard
   * within `revocationLag`.
   */
  find(id: string): Promise<U | undefined>;
  /**
   * The permissions that the user holds directly.
   *
   * Left out together with {@link UserStore.roles}: the storage keeps who holds what, by `auth.assignments`.
   */
  permissions?(user: U): Promise<readonly string[]>;
  /** The user's roles; the gate knows which permissions each one holds. */
  roles?(user: U): Promise<readonly string[]>;
}

/** The roles and the single permissions that somebody holds. */
export interface Assignment<P extends string = string, R extends string = string> {
  readonly roles: readonly R[];
  readonly permissions: readonly P[];
}

/** Keeps who holds what, for hosts that keep no permissions of their own: the `assignments` of a {@link Storage}. */
export interface AssignmentStore {
  /** What a user holds; nothing for one who was never assigned anything. */
  find(userId: string): Promise<Assignment>;
  /** Replaces what a user holds. */
  save(userId: string, assignment: Assignment): Promise<void>;
  /** Resolves to `false` when there was nothing. */
  delete(userId: string): Promise<boolean>;
}

/**
 * The roles and permissions of people, kept in the storage: for a {@link UserStore} without `permissions()` and `roles()`.
 * With one of the two, the user store says who holds what, and every method here throws a `ConfigError`.
 *
 * A change takes effect on this node at once, on the others within `revocationLag`.
 */
export interface Assignments<P extends string = string, R extends string = string> {
  /** What a user holds; nothing for one who was never assigned anything. */
  find(userId: string): Promise<Assignment>;
  /**
   * Says what a user holds from now on, in place of all that they held before: what is left out, they do not hold.
   * @throws AssignmentInvalidError with one entry per mistake
   */
  assign(userId: string, assignment: Partial<Assignment<P, R>>): Promise<void>;
  /** Takes everything away, as when the user is removed. `false`: there was nothing. */
  delete(userId: string): Promise<boolean>;
}
