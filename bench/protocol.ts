/** The messages between the driver and the server of a contestant. */

/** The options of a server process. */
export interface Job {
  /** Imports the sources of the package instead of the build. */
  readonly fromSources?: true;
  /** The URL of its database, if it has one. */
  readonly database?: string;
  /** The clients that are already in its database. */
  readonly registered?: Registered;
  /** The number of processes, of a server that runs in several. */
  readonly workers?: number;
  /** The file that each of these runs, below server/. */
  readonly worker?: string;
  /** The path of the module of a peer. */
  readonly peer?: string;
}

/** The first message of a server, when it listens. */
export interface Listening {
  readonly origin: string;
  readonly registered: Registered;
}

/** The clients of the benchmark. */
export interface Registered {
  readonly service: RegisteredClient;
  readonly app: RegisteredClient;
  /** Whether access tokens are references to rows, and not signed. */
  readonly opaque?: true;
}

export interface RegisteredClient {
  readonly id: string;
  readonly secret: string;
  /** What it asks users for. @default SCOPE */
  readonly scope?: string;
  /** Parameters with which this server issues the tokens that the others issue without them. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export const REDIRECT_URI = 'https://reports.example/callback';
export const SCOPE = 'schools:read';

export const GUARDED_ROUTE = '/api/v1/schools';
export const OPEN_ROUTE = '/schools';

export type Question = 'usage' | 'start profile' | 'stop profile' | 'start pruning' | 'stop pruning';

/** The resources that a server has used since its start. */
export interface Usage {
  /** CPU time of all its threads and processes, those that it started included, in microseconds. */
  readonly cpu: number;
  /** The peak memory, in bytes, and what the processes have now that it started. */
  readonly peakMemory: number;
  /** What it and those of them have now that outlast an operation, in bytes. */
  readonly memory: number;
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
