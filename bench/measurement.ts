/** The figures of one round of one contestant. */
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
  /** After the round, in MB, of the processes that outlast an operation. */
  readonly memory: number;
  /** Statements that were sent to a database server for each operation. */
  readonly statements: number;
  /** The share of the CPU time that other processes used, from 0 to 1; `undefined` if unknown. */
  readonly others: number | undefined;
}
