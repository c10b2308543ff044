import { CONTESTANTS, makeDatabase } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import type { Job } from './protocol.ts';
import { RunningContestant } from './running-contestant.ts';

/** Starts the servers of contestants, each on a database of its own. */
export class Servers implements AsyncDisposable {
  readonly #opened = new AsyncDisposableStack();
  readonly #kept: Map<string, Promise<RunningContestant>> | undefined;
  readonly #smoke: boolean;

  /**
   * @param smoke - nothing is measured: one server of each kind does everything, from the package's sources, and no database
   * is filled with much
   */
  constructor({ smoke }: { smoke: boolean }) {
    this.#kept = smoke ? new Map() : undefined;
    this.#smoke = smoke;
  }

  /** A server that lives as long as `scope`, unless it is shared. */
  async start(name: ContestantName, scope: AsyncDisposableStack): Promise<RunningContestant> {
    if (!this.#kept) return this.#startIn(scope, name);
    const { file, database = '', filled } = CONTESTANTS[name];
    const kind = filled ? name : `${file} ${database}`;
    const running = this.#kept.get(kind) ?? this.#startIn(this.#opened, name);
    this.#kept.set(kind, running);
    return running;
  }

  /** What a contestant is started with. Its database, if it has one, is removed with `scope`. */
  async prepareJob(name: ContestantName, scope: AsyncDisposableStack): Promise<Job> {
    const { workers } = CONTESTANTS[name];
    const database = await makeDatabase(CONTESTANTS[name], this.#smoke ? 1000 : 1);
    if (database) scope.defer(async () => database.remove());
    return {
      ...(this.#smoke ? { fromSources: true } : {}),
      ...(database ? { database: database.address } : {}),
      ...(workers === undefined ? {} : { workers }),
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
