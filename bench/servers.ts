import { join } from 'node:path';

import { CONTESTANTS } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import type { DatabaseCpu } from './database-cpu.ts';
import type { BenchDatabase } from './bench-database.ts';
import { makeDatabase } from './make-database.ts';
import type { Job } from './protocol.ts';
import { RunningContestant } from './running-contestant.ts';

interface Settings {
  /** Starts one server of each kind for all works, from the sources of the package, with small databases. */
  readonly smoke: boolean;
  /** The number of processes of the contestants with several. */
  readonly workers: number;
  /** The folder with the modules of peers, if they are installed. */
  readonly peers: string | undefined;
}

/** Starts the servers of contestants, each on a database of its own. */
export class Servers implements AsyncDisposable {
  readonly #opened = new AsyncDisposableStack();
  readonly #shared: Map<string, Promise<RunningContestant>> | undefined;
  readonly #settings: Settings;
  /** Of the contestants whose database is filled before, which takes minutes: all works use the same. */
  readonly #filled = new Map<ContestantName, ReturnType<typeof makeDatabase>>();

  constructor(settings: Settings) {
    this.#shared = settings.smoke ? new Map() : undefined;
    this.#settings = settings;
  }

  /** Starts a server until the end of `scope`, or returns a shared one. */
  async start(name: ContestantName, scope: AsyncDisposableStack): Promise<RunningContestant> {
    if (!this.#shared) return this.#startIn(scope, name);
    const { file, worker = '', database = '', filled, peer } = CONTESTANTS[name];
    const kind = filled || peer ? name : `${file} ${worker} ${database}`;
    const running = this.#shared.get(kind) ?? this.#startIn(this.#opened, name);
    this.#shared.set(kind, running);
    return running;
  }

  /** The options of a contestant, and what is counted of its database, which is removed at the end of `scope`, or with these servers. */
  async prepareJob(
    name: ContestantName,
    scope: AsyncDisposableStack,
  ): Promise<{ job: Job; databaseCpu: DatabaseCpu | undefined }> {
    const { smoke, workers, peers } = this.#settings;
    const { countsDatabase, peer, worker } = CONTESTANTS[name];
    const database = await this.#databaseOf(name, scope);
    const job = {
      ...(smoke ? ({ fromSources: true } as const) : {}),
      ...(database ? { database: database.address } : {}),
      ...(worker ? { worker } : {}),
      ...(peer && peers ? { peer: join(peers, `${peer}.js`) } : {}),
      workers,
    };
    return { job, databaseCpu: countsDatabase && database?.cpu };
  }

  async #databaseOf(name: ContestantName, scope: AsyncDisposableStack): Promise<BenchDatabase | undefined> {
    const contestant = CONTESTANTS[name];
    const part = this.#settings.smoke ? 1000 : 1;
    if (!contestant.filled) return makeDatabase(contestant, part, scope);
    const database = this.#filled.get(name) ?? makeDatabase(contestant, part, this.#opened);
    this.#filled.set(name, database);
    return database;
  }

  async #startIn(scope: AsyncDisposableStack, name: ContestantName): Promise<RunningContestant> {
    const { job, databaseCpu } = await this.prepareJob(name, scope);
    return scope.use(await RunningContestant.start(CONTESTANTS[name], job, databaseCpu));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}
