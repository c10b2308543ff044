/**
 * The files of this folder never run: `tsc` checks them. A line below `@ts-expect-error` that does compile is an error
 * too, so each of them is a test that fails when a mistake gets through.
 */
type Same<A, B> =
  (<T>(of: T) => T extends A ? 1 : 2) extends <T>(of: T) => T extends B ? 1 : 2 ? true : false;

/** Compiles when two types are the same; that one is assignable to the other is not enough. */
export declare function same<A, B>(...difference: Same<A, B> extends true ? [] : ['the types differ']): void;
