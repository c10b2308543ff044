import type { User, UserStore } from '../contracts/index.ts';

/** A person of a test server, and what they hold. */
export type TestUser<P extends string = string, R extends string = string, U extends User = User> = U & {
  /** What they hold besides their roles. @default [] */
  readonly permissions?: readonly NoInfer<P>[];
  /** @default [] */
  readonly roles?: readonly NoInfer<R>[];
};

/** A user store of a list of people. They log in by id or email, whatever the password. */
export function testUsers<U extends User>(people: readonly TestUser<string, string, U>[]): UserStore<U> {
  const holdings = new Map(
    people.map(({ id, permissions = [], roles = [] }) => [id, { permissions, roles }]),
  );
  return {
    authenticate: async (login) => people.find(({ email, id }) => login === email || login === id),
    find: async (id) => people.find((one) => one.id === id),
    permissions: async ({ id }) => holdings.get(id)?.permissions ?? [],
    roles: async ({ id }) => holdings.get(id)?.roles ?? [],
  };
}
