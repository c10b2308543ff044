import type { Administration, FieldError } from 'koa-gatehouse';
import type { PassportClient, LaravelPassportSource } from '../types.ts';

import type { Report } from '../../../cli/report.ts';
import { table, wrap } from '../../../cli/table.ts';
import { formatCount, INTERRUPTED } from '../../../cli/terminal.ts';
import { liveTokensText } from './live-tokens.ts';
import type { LiveTokens } from './live-tokens.ts';
import { mapClient } from './map-client.ts';
import type { ClientGrantType } from '../../../contracts/clients.ts';
import type { ClientInvalidError } from '../../../errors.ts';

/** The result of the import of one client, as `--json` prints it; on a dry run, the expected result. */
interface ImportResult {
  readonly client_id: string;
  readonly name: string;
  /**
   * `present`: a client with this id existed. `skipped`: a kind of client that this server does not have. `refused`: see
   * `errors`.
   */
  readonly result: 'imported' | 'present' | 'skipped' | 'refused';
  readonly grant_type: ClientGrantType | null;
  readonly disabled: boolean;
  readonly notes: readonly string[];
  readonly errors: readonly FieldError[];
  /** Why the client's live tokens are refused; `null` when the feature accepts them. */
  readonly tokens_refused: string | null;
}

/** Imports the clients one by one. Clients that exist already stay unchanged. */
export async function importClients(
  source: LaravelPassportSource,
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
    const result = await importOne(row, administration, dryRun);
    results.push({ ...result, tokens_refused: tokenRefusalOf(row, result) });
    onProgress(results.length);
  }
  return results;
}

/** Why the feature refuses the tokens of a client; `null` when it accepts them. */
export function tokenRefusalOf(
  { provider = 'users', revoked }: PassportClient,
  { result }: Pick<ImportResult, 'result'>,
): string | null {
  if (revoked) return 'the client is revoked';
  if (provider !== 'users') return 'the client is for users of another provider';
  return result === 'skipped' || result === 'refused' ? 'the client is not imported' : null;
}

async function importOne(
  row: PassportClient,
  administration: Administration,
  dryRun: boolean,
): Promise<Omit<ImportResult, 'tokens_refused'>> {
  const { id, name, revoked: disabled } = row;
  const mapped = mapClient(row);
  const known = {
    client_id: id,
    name,
    result: 'skipped',
    grant_type: null,
    disabled,
    notes: [],
    errors: [],
  } as const;
  if ('skipped' in mapped) return { ...known, notes: [mapped.skipped] };
  const { client, notes } = mapped;
  const grant_type = client.grantType;
  try {
    const result = await administration.importClient(client, { dryRun });
    return { ...known, result, grant_type, notes: result === 'imported' ? notes : [] };
  } catch (error) {
    if (!isInvalid(error)) throw error;
    return {
      ...known,
      result: 'refused',
      grant_type,
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

/** The report of an import, whose exit code is 1 when clients were refused. */
export function importReport(
  results: readonly ImportResult[],
  {
    dryRun,
    interrupted,
    tokens,
  }: {
    readonly dryRun: boolean;
    readonly interrupted: boolean;
    /** `undefined` when the tokens were not counted. */
    readonly tokens: LiveTokens | string | undefined;
  },
): Report {
  const counts = { imported: 0, present: 0, skipped: 0, refused: 0 };
  for (const { result } of results) counts[result] += 1;
  const { imported, present, refused, skipped } = counts;
  const summary = [
    `${formatCount(imported)} ${dryRun ? 'to import' : 'imported'}, ${formatCount(present)} already present, ${formatCount(skipped)} skipped, ${formatCount(refused)} refused.`,
    ...(interrupted ? ['Interrupted: run it again for the rest.'] : []),
    ...(refused > 0 ? ['Correct the refused clients in Passport, and run it again.'] : []),
    ...(dryRun && imported > 0 ? ['Nothing was changed. Run it again with --yes to import.'] : []),
  ];
  return {
    json: {
      dry_run: dryRun,
      interrupted,
      ...counts,
      clients: results,
      ...(typeof tokens === 'object' && { tokens }),
    },
    text: [
      ...listed(results, dryRun),
      ...(tokens === undefined ? [] : [liveTokensText(tokens)]),
      summary.join('\n'),
    ].join('\n\n'),
    exitCode: interrupted ? INTERRUPTED : refused > 0 ? 1 : 0,
  };
}

/** The results as a table, with numbered notes below it, each distinct note once. */
function listed(results: readonly ImportResult[], dryRun: boolean): readonly string[] {
  if (results.length === 0) return [];
  const numbers = new Map<string, number>();
  const rows = results.map((one) => {
    const remarks = remarksOn(one);
    for (const remark of remarks) if (!numbers.has(remark)) numbers.set(remark, numbers.size + 1);
    return [
      one.client_id,
      one.name,
      dryRun && one.result === 'imported' ? 'to import' : one.result,
      one.grant_type ?? '',
      remarks.map((remark) => numbers.get(remark)).join(', '),
    ];
  });
  const notes = Array.from(numbers, ([remark, number]) => wrap(`${number}. `.padStart(4), remark));
  return [
    table(['Client ID', 'Name', 'Result', 'Grant type', 'Notes'], rows, 'Name'),
    ...(notes.length > 0 ? [notes.join('\n')] : []),
  ];
}

function remarksOn({ disabled, errors, notes, result }: ImportResult): readonly string[] {
  return [
    ...errors.map(({ field, message }) => `${field}: ${message}`),
    ...notes,
    ...(disabled && result === 'imported' ? ['It was revoked in Passport, so it is disabled.'] : []),
  ];
}
