import type { Dialect } from '../dialect.ts';

/**
 * One step of the schema. Its name is stored: it never changes, and neither does what it does once it is published.
 */
export interface Migration {
  readonly name: string;
  /** The statements, in order. Running them again after a crash in the middle does no harm. */
  up(this: void, dialect: Dialect): string[];
}
