import type { StoredClient } from '../contracts/clients.ts';
import type { Consent } from '../contracts/consents.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import type { End } from '../contracts/ends.ts';
import type { Credential, Grant, GrantPrerequisites } from '../contracts/grants.ts';
import type { StorageState } from '../contracts/diagnosis.ts';
import type { Dialect, RemovableRows } from './dialect.ts';
import type { Statements, Step, Value } from './statements.ts';

/**
 * The database, as the stores of the core and of features use it. Each call has a connection of its own while it runs, and is tried again
 * where another try may succeed.
 */
export interface Database extends Statements {
  readonly dialect: Dialect;
  /** As in `StorageState`. */
  readonly failing: StorageState['failing'];
  /** Runs one statement that changes rows and returns them, never on a read-only connection. */
  returning<Row>(sql: string, values: readonly Value[]): Promise<Row[]>;
  /** Runs several statements on one connection, without a transaction. */
  connection<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction, which is rolled back when `work` throws. A retry runs `work` again, so it does nothing
   * but call its statements.
   *
   * @param timeout - instead of the storage's own
   */
  transaction<T>(work: (statements: Statements) => Promise<T>, timeout?: Milliseconds): Promise<T>;
  /**
   * Runs the steps of a transaction, all or none of them, in one round trip where the server can do that. Resolves to the row that the
   * last query among the steps has found, or to an empty row. Resolves to `undefined` when a step has not changed or found what it needs.
   */
  runSteps<Found extends object>(steps: readonly Step[]): Promise<Found | undefined>;
  /**
   * Inserts a row. Resolves to `false` when a row with the same key is stored, which is then sure to last, and when nothing was inserted.
   * The insert itself decides: between a query and the insert, another node could insert the same key.
   */
  insertUnlessStored(insert: string, values: readonly Value[]): Promise<boolean>;
  /** As in `Storage`. */
  confirm(): Promise<void>;
}

/** Steps of the core that a transaction of a feature can have. */
export interface CoreSteps {
  /** Inserts a grant with its first credential, as `GrantStore.insert` does. Without one, it is needed until its `expiresAt`. */
  readonly grantSteps: (
    grant: Grant,
    credential: Credential | undefined,
    prerequisites: GrantPrerequisites,
  ) => readonly Step[];
  /** Adds a consent, as `ConsentStore.add` does. */
  readonly addConsent: (statements: Statements, consent: Consent, sequence?: number) => Promise<void>;
  /** Inserts a client with its secrets. */
  readonly insertClient: (
    statements: Statements,
    stored: Pick<StoredClient, 'client' | 'secrets'>,
  ) => Promise<void>;
  /** Deletes a client with its secrets. Resolves to the number of clients. */
  readonly deleteClient: (statements: Statements, id: string) => Promise<number>;
  /** Deletes a client with its secrets, and ends it; no client gets its id again. */
  readonly deleteForGood: (statements: Statements, id: string) => Promise<number>;
  /** The consents and grants of a client, which are to be deleted with it. */
  readonly dependentRows: (id: string) => readonly RemovableRows[];
  /** Deletes the consents and grants of a client, in batches. */
  readonly removeDependent: (id: string) => Promise<void>;
  /** Removes ends from the outbox, as `EndStore.done` does. */
  readonly endsDone: (statements: Pick<Statements, 'run'>, ends: readonly Pick<End, 'id'>[]) => Promise<void>;
  /** Ends a batch of the sign-ins that a mass end has ended. Resolves to their number: repeat the call until it is 0. */
  readonly endSignIns: (statements: Statements, signIns: SignIns) => Promise<number>;
}

/** Selects grants by which users are signed in, and which the end of a user, of a client or of all has ended. */
export interface SignIns {
  /**
   * What has ended. `userId` or `clientId` names the party whose sign-ins are meant: after an end of all, sign-ins are ended client by
   * client.
   */
  readonly ended: 'user' | 'client' | 'all';
  readonly userId?: string;
  readonly clientId?: string;
  readonly at: Seconds;
  /** Called in the transaction with the ids of the grants, before the grants lose their sign-ins. */
  readonly tell: (grantIds: readonly string[]) => Promise<void>;
}

/** Makes a store of a feature. */
export type MakeStore<T> = (database: Database, core: CoreSteps) => T;
