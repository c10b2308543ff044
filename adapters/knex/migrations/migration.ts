import type { Dialect } from '../dialect.ts';

/** One step of the schema. Once published, neither its name, which is stored, nor its statements change. */
export interface Migration {
  readonly name: string;
  /** The statements, in order. They can be run again after a crash in the middle. */
  up(this: void, dialect: Dialect): string[];
}
