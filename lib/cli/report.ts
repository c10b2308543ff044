/** What a command has to say. */
export interface Report {
  /** The document that `--json` prints. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The same for people. */
  readonly text: string;
  /** Said beside it, on stderr; in the document they are its `notes`. */
  readonly notes?: readonly string[];
  /** @default 0 */
  readonly exitCode?: number;
}

/** Prints a report, and leaves the exit code to the process. */
export function print({ json, text, notes, exitCode = 0 }: Report, { asJson }: { asJson: boolean }): void {
  process.exitCode = exitCode;
  if (asJson) {
    process.stdout.write(`${JSON.stringify(notes ? { ...json, notes } : json, undefined, 2)}\n`);
    return;
  }
  process.stdout.write(`${text}\n`);
  for (const note of notes ?? []) process.stderr.write(`Note: ${note}\n`);
}
