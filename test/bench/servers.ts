import { CONTESTANTS, makeDatabase } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import type { Job } from './protocol.ts';
import { RunningContestant } from './running-contestant.ts';

/** Starts the servers of contestants, each on a database of its own. */
export class Servers implements AsyncDisposable {
  readonly #opened = new AsyncDisposableStack();
  readonly #kept: Map<string, Promise<RunningContestant>> | undefined;

  /** @param shared - one server of each kind does everything: quicker, and what one work does the next one feels */
  constructor({ shared }: { shared: boolean }) {
    this.#kept = shared ? new Map() : undefined;
  }

  /** A server that lives as long as `scope`, unless it is shared. */
  async start(name: ContestantName, scope: AsyncDisposableStack): Promise<RunningContestant> {
    if (!this.#kept) return startIn(scope, name);
    const { file, database = '' } = CONTESTANTS[name];
    const kind = `${file} ${database}`;
    const running = this.#kept.get(kind) ?? startIn(this.#opened, name);
    this.#kept.set(kind, running);
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

async function startIn(scope: AsyncDisposableStack, name: ContestantName): Promise<RunningContestant> {
  const job = await prepareJob(name, scope);
  return scope.use(await RunningContestant.start(CONTESTANTS[name], job));
}

/** What a contestant is started with. Its database, if it has one, is removed with `scope`. */
export async function prepareJob(name: ContestantName, scope: AsyncDisposableStack): Promise<Job> {
  const { workers } = CONTESTANTS[name];
  const database = await makeDatabase(CONTESTANTS[name]);
  if (database) scope.defer(async () => database.remove());
  return {
    ...(database ? { database: database.address } : {}),
    ...(workers === undefined ? {} : { workers }),
  };
}
