/**
 * What one core does, in microseconds of CPU time per operation, as `npm run bench` and `storage-scale.ts` measure it. Pass
 * figures of your machine to {@link plan} to plan with them.
 */
export interface Costs {
  /** A guarded request whose token is cached, a small answer of the host included. */
  readonly guardCached: number;
  /** What a request adds that reads the token's user or client and its revocations again. */
  readonly guardRead: number;
  /** What a request adds that verifies a signature. */
  readonly guardVerify: number;
  readonly refresh: number;
  /** An authorization with a session and a consent that are remembered, and the exchange of the code. */
  readonly authorization: number;
  readonly clientCredentials: number;
  /** Of the database: a read by primary key. */
  readonly databaseRead: number;
  /** Of the database: the transaction of a refresh or of an exchange. */
  readonly databaseWrite: number;
  /** In each second, of a process without requests: timers, and reading what other nodes have changed. */
  readonly idle: number;
  /** Of the database, in each second, for a process without requests. */
  readonly databaseIdle: number;
  /** What a guarded request adds that finds its process asleep: waking it up, and the processor's caches, which others have used. */
  readonly coldGuard: number;
  /** What it adds besides if it reads. */
  readonly coldRead: number;
  /** The same of a request to the token endpoint. */
  readonly coldToken: number;
  /** For how long after a request the next one is not such a one, in seconds. */
  readonly warmFor: number;
  /** Of the database: what a statement adds that finds its connection so, and for how long it does not. */
  readonly databaseCold: number;
  readonly databaseWarmFor: number;
  /** Of PgBouncer: a statement. */
  readonly poolerStatement: number;
  /** Of the database: what a read, and a transaction, adds through PgBouncer without prepared statements. */
  readonly databaseUnpreparedRead: number;
  readonly databaseUnpreparedWrite: number;
  /** Of a process: deleting an expired row. */
  readonly pruneRow: number;
  /** Of the database: deleting it, and freeing its place (VACUUM). */
  readonly databasePruneRow: number;
}

/** A platform's requests, and how it is run. */
export interface Load {
  /** Guarded requests per second, of all nodes. */
  readonly rate: number;
  /** Seconds between two requests with one token. */
  readonly pause: number;
  /** `lifetimes.accessToken` in seconds: an active token is refreshed as often. */
  readonly accessToken: number;
  /** Seconds between two authorizations of an active token's user and client. */
  readonly authorizations: number;
  /** Share of the guarded requests whose client asks for a token of its own first. */
  readonly clientTokens: number;
  /** `revocationLag` in seconds. */
  readonly revocationLag: number;
  readonly cachedTokens: number;
  /** Whether the load balancer sends all requests with one token to one process. */
  readonly affinity: boolean;
  /** Whether PgBouncer without prepared statements is between the processes and the database. */
  readonly pooler: boolean;
}

/** What a load needs. Rates are per second. */
export interface Plan {
  /** Tokens in use at a time. */
  readonly tokens: number;
  /** Processes of this package, each on a core of its own. */
  readonly processes: number;
  /** The CPU time of them all per second, in seconds. */
  readonly cores: number;
  /** The 99th percentile of the time that a request waits for its process, in milliseconds. */
  readonly wait: number;
  /** Share of the guarded requests that read the database. */
  readonly readShare: number;
  readonly databaseReads: number;
  readonly databaseWrites: number;
  /** Rows that expire, and are pruned. */
  readonly prunedRows: number;
  /** Cores of the database. */
  readonly databaseCores: number;
  /** Cores of PgBouncer, of which one process uses one. */
  readonly poolerCores: number;
}

/** A guarded request that reads the database reads the user or client, and the revocations. */
const READS_PER_TOKEN = 2;

/** Rows that expire later, by what adds them: those of the operation, and the records of the audit log. */
const ROWS = { refresh: 2, authorization: 4, clientCredentials: 1 };

/** Cores are not planned to be busier than this, so that the others can take the share of a node that fails. */
const UTILISATION = 0.7;

/**
 * The share of requests that read the database (or find a process asleep, with its own time instead of `lag`): a token that was read is used without reading for `lag` seconds, and with
 * requests at random times (a Poisson process) `rate * lag` requests pass meanwhile, so that one request of `1 + rate * lag` reads.
 *
 * @param rate - of the requests with one token at one process, per second
 */
export function readShare(rate: number, lag: number): number {
  return 1 / (1 + rate * lag);
}

/** Finds the smallest number of processes that the load does not fill, and what the database has to do for them. */
export function plan(load: Load, costs: Costs): Plan {
  const tokens = load.rate * load.pause;
  const refreshes = tokens / load.accessToken;
  const authorizations = tokens / load.authorizations;
  const clientTokens = load.rate * load.clientTokens;
  const issuing =
    refreshes * costs.refresh + authorizations * costs.authorization + clientTokens * costs.clientCredentials;
  // An authorization is a request for a page and one for a token.
  const tokenRequests = refreshes + 2 * authorizations + clientTokens;
  const requests = load.rate + tokenRequests;
  const prunedRows =
    refreshes * ROWS.refresh + authorizations * ROWS.authorization + clientTokens * ROWS.clientCredentials;

  for (let processes = 1; ; processes += 1) {
    const guard = guardWork(load, costs, processes);
    const asleep = readShare(requests / processes, costs.warmFor);
    const cold =
      asleep * (load.rate * costs.coldGuard + guard.reads * costs.coldRead + tokenRequests * costs.coldToken);
    const idle = processes * costs.idle + prunedRows * costs.pruneRow;
    const cores = (guard.work + issuing + cold + idle) / 1e6;
    if (cores > processes * UTILISATION) continue;
    const databaseReads = guard.reads * READS_PER_TOKEN;
    const databaseWrites = refreshes + 2 * authorizations;
    // A refresh finds the token, and redeems it.
    const statements = databaseReads + 2 * databaseWrites;
    // A process has a connection that is used most, and the database a process for it.
    const databaseCold =
      statements * readShare(statements / processes, costs.databaseWarmFor) * costs.databaseCold;
    const databaseWork = databaseReads * costs.databaseRead + databaseWrites * costs.databaseWrite;
    const unprepared = load.pooler
      ? databaseReads * costs.databaseUnpreparedRead + databaseWrites * costs.databaseUnpreparedWrite
      : 0;
    const databaseRest = processes * costs.databaseIdle + prunedRows * costs.databasePruneRow;
    return {
      tokens,
      processes,
      cores,
      wait: waitOf99(cores / processes, (cores / load.rate) * 1000),
      readShare: guard.reads / load.rate,
      databaseReads,
      databaseWrites,
      prunedRows,
      databaseCores: (databaseWork + databaseCold + unprepared + databaseRest) / 1e6,
      poolerCores: load.pooler ? (statements * costs.poolerStatement) / 1e6 : 0,
    };
  }
}

/** The microseconds of CPU time per second of the guards of all processes, and the tokens per second that they read. */
function guardWork(load: Load, costs: Costs, processes: number): { work: number; reads: number } {
  const { affinity, cachedTokens, pause, rate, revocationLag } = load;
  const share = readShare(1 / (pause * (affinity ? 1 : processes)), revocationLag);
  const tokensEach = (rate * pause) / (affinity ? processes : 1);
  // A token that the cache has no room for is read and verified again.
  const evicted = Math.max(0, 1 - cachedTokens / tokensEach);
  const reads = rate * Math.max(share, evicted);
  const work = rate * costs.guardCached + reads * costs.guardRead + rate * evicted * costs.guardVerify;
  return { work, reads };
}

/**
 * The 99th percentile of the waiting time of a single server with random arrivals and service times (M/M/1): the time `t` at
 * which `utilisation * exp(-(1 - utilisation) * t / service)` is 0.01. Each process has a queue of its own.
 */
export function waitOf99(utilisation: number, service: number): number {
  return Math.max(0, (Math.log(utilisation / 0.01) * service) / (1 - utilisation));
}
