/** What one round with one contestant gave. */
export interface Measurement {
  readonly operations: number;
  readonly perSecond: number;
  /** CPU time of the server for each operation, in microseconds. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Since the server was started, in MB. */
  readonly peakMemory: number;
  /** Statements that were sent to a database server for each operation. */
  readonly statements: number;
  /** How much of the machine others took, from 0 to 1. `undefined`: nobody knows. */
  readonly others: number | undefined;
}
