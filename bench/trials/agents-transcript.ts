/** What the trial has done, as Markdown on standard output, one line as soon as it is known. */
export class Transcript {
  #failed = 0;

  /** The exit status of the process. */
  get status(): number {
    return this.#failed > 0 ? 1 : 0;
  }

  line(text: string): void {
    console.log(text);
  }

  /** Runs the steps of one program. A step that throws is the last one, and fails the trial. */
  async program(name: string, steps: (done: (what: string) => void) => Promise<void>): Promise<void> {
    this.line(`\n## ${name}\n`);
    try {
      await steps((what) => this.line(`- ${what}`));
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  fail(what: string): void {
    this.#failed += 1;
    this.line(`- **failed**: ${what}`);
  }
}

/** Throws with what was found unless it is as it has to be. */
export function expect(what: string, holds: boolean, found?: unknown): void {
  if (!holds)
    throw new Error(`${what} expected${found === undefined ? '' : `, found ${JSON.stringify(found)}`}`);
}
