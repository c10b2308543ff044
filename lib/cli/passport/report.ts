import { inGroups } from '../progress.ts';
import { table, wrap } from '../table.ts';
import type { ImportResult } from './import-clients.ts';

/** The results for people: a table, and below it what is to be known, each thing once. */
export function importText(
  results: readonly ImportResult[],
  { dryRun, interrupted }: { dryRun: boolean; interrupted: boolean },
): string {
  const footnotes = new Map<string, number>();
  const rows = results.map((result) => [
    result.id,
    result.name,
    dryRun && result.result === 'imported' ? 'to import' : result.result,
    result.grantType ?? '',
    remarks(result)
      .map((remark) => numbered(footnotes, remark))
      .join(', '),
  ]);
  const columns = [
    { title: 'Client ID' },
    { title: 'Name', shrinks: true },
    { title: 'Result' },
    { title: 'Grant type' },
    { title: 'Notes' },
  ] as const;
  return [
    ...(rows.length > 0 ? [table(columns, rows)] : []),
    ...(footnotes.size > 0
      ? [[...footnotes].map(([text, number]) => wrap(`${number}. `.padStart(4), text)).join('\n')]
      : []),
    [
      summary(results, dryRun),
      ...(interrupted ? ['Interrupted: run it again for the rest.'] : []),
      ...next(results, dryRun),
    ].join('\n'),
  ].join('\n\n');
}

/** How many there are of each kind of result. */
export function countResults(results: readonly ImportResult[]): Record<ImportResult['result'], number> {
  const counts = { imported: 0, present: 0, skipped: 0, refused: 0 };
  for (const { result } of results) counts[result] += 1;
  return counts;
}

function remarks({ disabled, errors, notes, result }: ImportResult): readonly string[] {
  return [
    ...errors.map(({ field, message }) => `${field}: ${message}`),
    ...notes,
    ...(disabled && result === 'imported' ? ['It was revoked in Passport, so it is disabled.'] : []),
  ];
}

function numbered(footnotes: Map<string, number>, text: string): number {
  const number = footnotes.get(text) ?? footnotes.size + 1;
  footnotes.set(text, number);
  return number;
}

function summary(results: readonly ImportResult[], dryRun: boolean): string {
  const { imported, present, refused, skipped } = countResults(results);
  return [
    `${inGroups(imported)} ${dryRun ? 'to import' : 'imported'}`,
    `${inGroups(present)} already present`,
    `${inGroups(skipped)} skipped`,
    `${inGroups(refused)} refused`,
  ]
    .join(', ')
    .concat('.');
}

function next(results: readonly ImportResult[], dryRun: boolean): readonly string[] {
  const { imported, refused } = countResults(results);
  return [
    ...(refused > 0 ? ['Correct the refused clients in Passport, and run it again.'] : []),
    ...(dryRun && imported > 0 ? ['Nothing was changed. Run it again with --yes to import.'] : []),
  ];
}
