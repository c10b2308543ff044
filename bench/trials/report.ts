/** What one part of a trial has found. */
export interface Finding {
  /** What was done, in a few words. */
  readonly what: string;
  /** How often. */
  readonly count: number;
  /** Each breach of a rule, in words. */
  readonly broken: readonly string[];
  /** Measured beside it, such as `back after 1.2 s`. */
  readonly note?: string;
}

// Of the same kind there may be hundreds.
const LISTED = 5;

/** Prints the findings as a table, then the first breaches of each; returns the exit status of the process. */
export function report(findings: readonly Finding[]): number {
  const rows = [
    ['', 'runs', 'broken', ''],
    ...findings.map(({ what, count, broken, note = '' }) => [what, `${count}`, `${broken.length}`, note]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 1 || column === 2 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
    );
    console.log(cells.join('  ').trimEnd());
  }
  for (const { what, broken } of findings.filter((finding) => finding.broken.length > 0)) {
    console.log(`\n${what}:`);
    for (const breach of broken.slice(0, LISTED)) console.log(`  ${breach}`);
    if (broken.length > LISTED) console.log(`  and ${broken.length - LISTED} more`);
  }
  return findings.some(({ broken }) => broken.length > 0) ? 1 : 0;
}
