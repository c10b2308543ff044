/** Something that one caller has at a time; the others wait in turn. */
export class Turn {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** Whether the caller has it now. */
  takeIfFree(): boolean {
    if (this.#isTaken) return false;
    return (this.#isTaken = true);
  }

  async take(): Promise<this> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isTaken = true;
    return this;
  }

  // The caller that has waited longest is next. The turn stays taken, so that no other caller gets it in between.
  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isTaken = false;
  }
}
