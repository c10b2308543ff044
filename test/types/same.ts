/**
 * The files of this folder are checked by `tsc` and do not run. A line below `@ts-expect-error` that compiles is an error, so
 * each of them is a test.
 */
type Same<A, B> =
  (<T>(of: T) => T extends A ? 1 : 2) extends <T>(of: T) => T extends B ? 1 : 2 ? true : false;

/** Compiles only when two types are identical; assignability is not enough. */
export declare function same<A, B>(...difference: Same<A, B> extends true ? [] : ['the types differ']): void;
