import type { Administration, ClientGrantType, ClientInvalidError, FieldError } from 'koa-gatehouse';
import type { PassportClient, PassportSource } from 'koa-gatehouse/adapters/knex';

import { table, wrap } from '../table.ts';
import { formatCount } from '../terminal.ts';
import { mapClient } from './map-client.ts';

/** The result of the import of one client; on a dry run, the expected result. */
export interface ImportResult {
  readonly id: string;
  readonly name: string;
  /**
   * `present`: a client with this id existed. `skipped`: a kind of client that this server does not have. `refused`: see
   * `errors`.
   */
  readonly result: 'imported' | 'present' | 'skipped' | 'refused';
  readonly grantType?: ClientGrantType;
  readonly disabled: boolean;
  readonly notes: readonly string[];
  readonly errors: readonly FieldError[];
}

/** Imports the clients one by one. Clients that exist already stay unchanged. */
export async function importClients(
  source: PassportSource,
  administration: Administration,
  {
    dryRun,
    onProgress,
    signal,
  }: { dryRun: boolean; onProgress: (done: number) => void; signal: AbortSignal },
): Promise<readonly ImportResult[]> {
  const results: ImportResult[] = [];
  for await (const row of source.clients()) {
    if (signal.aborted) break;
    results.push(await importOne(row, administration, dryRun));
    onProgress(results.length);
  }
  return results;
}

async function importOne(
  row: PassportClient,
  administration: Administration,
  dryRun: boolean,
): Promise<ImportResult> {
  const { id, name, revoked: disabled } = row;
  const known = { id, name, disabled, notes: [], errors: [] };
  const mapped = mapClient(row);
  if ('skipped' in mapped) return { ...known, result: 'skipped', notes: [mapped.skipped] };
  const { client, notes } = mapped;
  const { grantType } = client;
  try {
    const result = await administration.importClient(client, { dryRun });
    return { ...known, result, grantType, notes: result === 'imported' ? notes : [] };
  } catch (error) {
    if (!isInvalid(error)) throw error;
    return {
      ...known,
      result: 'refused',
      grantType,
      errors: error.fields.map((one) => withRedirectUri(one, row)),
    };
  }
}

function isInvalid(error: unknown): error is ClientInvalidError {
  return (
    error instanceof Error && 'code' in error && error.code === 'ERR_CLIENT_INVALID' && 'fields' in error
  );
}

/** Adds the redirect URI to the message of an error, because its index is not visible in Passport. */
function withRedirectUri(error: FieldError, { redirectUris }: PassportClient): FieldError {
  const index = /^redirectUris\[(\d+)\]$/.exec(error.field)?.[1];
  return index === undefined
    ? error
    : { ...error, message: `${error.message} (${redirectUris[Number(index)]})` };
}

/** The results as text: a table, with numbered notes below it, each distinct note once. */
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
      .map((remark) => footnoteNumber(footnotes, remark))
      .join(', '),
  ]);
  const columns = ['Client ID', 'Name', 'Result', 'Grant type', 'Notes'] as const;
  return [
    ...(rows.length > 0 ? [table(columns, rows, 'Name')] : []),
    ...(footnotes.size > 0
      ? [[...footnotes].map(([text, number]) => wrap(`${number}. `.padStart(4), text)).join('\n')]
      : []),
    [
      summary(results, dryRun),
      ...(interrupted ? ['Interrupted: run it again for the rest.'] : []),
      ...nextSteps(results, dryRun),
    ].join('\n'),
  ].join('\n\n');
}

/** The number of results of each kind. */
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

function footnoteNumber(footnotes: Map<string, number>, text: string): number {
  const number = footnotes.get(text) ?? footnotes.size + 1;
  footnotes.set(text, number);
  return number;
}

function summary(results: readonly ImportResult[], dryRun: boolean): string {
  const { imported, present, refused, skipped } = countResults(results);
  return [
    `${formatCount(imported)} ${dryRun ? 'to import' : 'imported'}`,
    `${formatCount(present)} already present`,
    `${formatCount(skipped)} skipped`,
    `${formatCount(refused)} refused`,
  ]
    .join(', ')
    .concat('.');
}

function nextSteps(results: readonly ImportResult[], dryRun: boolean): readonly string[] {
  const { imported, refused } = countResults(results);
  return [
    ...(refused > 0 ? ['Correct the refused clients in Passport, and run it again.'] : []),
    ...(dryRun && imported > 0 ? ['Nothing was changed. Run it again with --yes to import.'] : []),
  ];
}
