/** What the driver and the server of a contestant tell each other. */

/** What a server is started with. */
export interface Job {
  /** Imports the package's sources, instead of what is published: the build is left out then. */
  readonly fromSources?: true;
  /** The address of its database, for one that has one. */
  readonly database?: string;
  /** The clients that its database has already. */
  readonly registered?: Registered;
  /** In how many processes it serves. @default 1 */
  readonly workers?: number;
}

/** What a server says when it listens. */
export interface Listening {
  readonly origin: string;
  readonly registered: Registered;
}

/** The clients of the benchmark. */
export interface Registered {
  readonly service: RegisteredClient;
  readonly app: RegisteredClient;
}

export interface RegisteredClient {
  readonly id: string;
  readonly secret: string;
}

export const REDIRECT_URI = 'https://reports.example/callback';
export const SCOPE = 'schools:read';

export type Question = 'usage' | 'start profile' | 'stop profile' | 'start pruning' | 'stop pruning';

/** What a server has used since it was started. */
export interface Usage {
  /** CPU time of all its threads and processes, in microseconds. */
  readonly cpu: number;
  /** The most memory that it had at a time, in bytes. */
  readonly peakMemory: number;
  /** Statements that it sent to a database server. */
  readonly statements: number;
}

export interface Asked {
  readonly number: number;
  readonly question: Question;
}

export interface Answered {
  readonly number: number;
  readonly answer: unknown;
}
