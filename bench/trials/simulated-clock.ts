import { globSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');

/** A clock of several programs, which libfaketime makes theirs. Timers are not: they measure how long something takes. */
export class SimulatedClock {
  /** What the machine lacks; `undefined` when it lacks nothing. */
  static readonly whatIsMissing: string | undefined = LIBRARY ? undefined : 'apt-get install faketime';

  /** The variables of a program that has this clock. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #file: string;
  /** In seconds, beside the clock of the machine. */
  #ahead = 0;

  /** @param folder - for its file, which the users of the programs must be able to read */
  constructor(folder: string) {
    this.#file = join(folder, 'clock');
    this.environment = {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
    this.pass(0);
  }

  /** Sets the clock of all programs ahead, by so many seconds. */
  pass(seconds: number): void {
    this.#ahead += seconds;
    writeFileSync(`${this.#file}.next`, `+${this.#ahead}\n`);
    // A program reads the old time or the new one, never half of a file.
    renameSync(`${this.#file}.next`, this.#file);
  }
}
