import { join } from 'node:path';

import { CONTESTANTS, makeDatabase } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
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

  constructor(settings: Settings) {
    this.#shared = settings.smoke ? new Map() : undefined;
    this.#settings = settings;
  }

  /** Starts a server until the end of `scope`, or returns a shared one. */
  async start(name: ContestantName, scope: AsyncDisposableStack): Promise<RunningContestant> {
    if (!this.#shared) return this.#startIn(scope, name);
    const { file, database = '', filled, peer } = CONTESTANTS[name];
    const kind = filled || peer ? name : `${file} ${database}`;
    const running = this.#shared.get(kind) ?? this.#startIn(this.#opened, name);
    this.#shared.set(kind, running);
    return running;
  }

  /** The options of a contestant. Its database is removed at the end of `scope`. */
  async prepareJob(name: ContestantName, scope: AsyncDisposableStack): Promise<Job> {
    const { smoke, workers, peers } = this.#settings;
    const { peer } = CONTESTANTS[name];
    const database = await makeDatabase(CONTESTANTS[name], smoke ? 1000 : 1);
    if (database) scope.defer(async () => database.remove());
    return {
      ...(smoke ? { fromSources: true } : {}),
      ...(database ? { database: database.address } : {}),
      ...(peer && peers ? { peer: join(peers, `${peer}.js`) } : {}),
      workers,
    };
  }

  async #startIn(scope: AsyncDisposableStack, name: ContestantName): Promise<RunningContestant> {
    const job = await this.prepareJob(name, scope);
    return scope.use(await RunningContestant.start(CONTESTANTS[name], job));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}
