import type { IssueToken } from '../oidc/issue-token.ts';

/** What the test kit may ask of a server, beyond what everybody may. */
export interface Internals {
  readonly issueToken: IssueToken;
}

const internals = new WeakMap<object, Internals>();

/** Keeps a server's internals where only this package finds them. */
export function keepInternals(auth: object, its: Internals): void {
  internals.set(auth, its);
}

/** The internals of a server; `undefined` for an object that `createAuthServer()` did not return. */
export function internalsOf(auth: object): Internals | undefined {
  return internals.get(auth);
}
