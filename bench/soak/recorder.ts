import { createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';

import type { Checker } from './checker.ts';
import type { Answer, Begun, Ended, Kind, Line, Subject } from './operations.ts';

/** Writes the begin and the end of each operation to the log of answers, counts it, and tells the checker. */
export class Recorder {
  readonly #checker: Checker;
  readonly #log: WriteStream;
  #pending = '';
  #lastTime = 0;
  count = 0;
  /** Answers by kind and status. */
  readonly answers: Map<Kind, Map<number, number>> = new Map();

  constructor(checker: Checker, file: string) {
    this.#checker = checker;
    this.#log = createWriteStream(file);
  }

  /** In milliseconds. Each time is later than the one before, so that the times have the order of what happened. */
  now(): number {
    const thousandths = Math.max(Math.round(performance.now() * 1000), this.#lastTime + 1);
    this.#lastTime = thousandths;
    return thousandths / 1000;
  }

  begin(node: number, subject: Subject): Begun {
    const number = this.count;
    this.count += 1;
    const begun = { number, at: this.now(), node, ...subject };
    this.#write({ begun });
    this.#checker.begin(begun);
    return begun;
  }

  end({ number, kind }: Begun, answer: Answer): void {
    const ended: Ended = { number, at: this.now(), ...answer };
    this.#write({ ended });
    const statuses = this.answers.get(kind) ?? new Map<number, number>();
    this.answers.set(kind, statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1));
    this.#checker.end(ended);
  }

  #write(line: Line): void {
    this.#pending += `${JSON.stringify(line)}\n`;
    if (this.#pending.length < 65_536) return;
    this.#log.write(this.#pending);
    this.#pending = '';
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#log.end(this.#pending, resolve);
    return promise;
  }
}
