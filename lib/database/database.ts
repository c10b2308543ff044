import type { Credential, Grant, GrantPrerequisites } from '../contracts/index.ts';
import type { Statements, Step, Value } from './statements.ts';

/** The database, as a store of a feature uses it. SQL is that which all databases understand. */
export interface Database extends Statements {
  /** What differs between the databases, for the statements of a store. */
  readonly dialect: {
    /** Appended to a `select` whose rows must not change until the transaction ends. */
    readonly forUpdate: '' | ' for update';
  };
  /**
   * Runs the steps of a transaction, all or none of them; in one round trip where the server can. Resolves to the row that the last query
   * among them has found, or to an empty one; to `undefined` when a step has not changed or found what it needs.
   */
  inTurn<Found extends object>(steps: readonly Step[]): Promise<Found | undefined>;
  /** Inserts a row. Resolves to `false` when one with the same key is stored, which lasts then, and when nothing was inserted. */
  insertUnlessStored(insert: string, values: readonly Value[]): Promise<boolean>;
  /** Runs `work` in a transaction, which is rolled back when `work` throws. A retry runs `work` again. */
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}

/** Steps of the core that a transaction of a feature can have. */
export interface CoreSteps {
  /** Inserts a grant with its first credential, as `GrantStore.insert` does. */
  grantSteps(
    this: void,
    grant: Grant,
    credential: Credential,
    prerequisites: GrantPrerequisites,
  ): readonly Step[];
}

/** Makes a store of a feature. */
export type MakeStore<T> = (database: Database, core: CoreSteps) => T;
