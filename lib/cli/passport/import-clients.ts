import type { Administration, ClientGrantType, ClientInvalidError, FieldError } from 'koa-gatehouse';
import type { PassportClient, PassportSource } from 'koa-gatehouse/adapters/knex';

import { mapClient } from './map-client.ts';

/** What became of one client. On a dry run: what would. */
export interface ImportResult {
  readonly id: string;
  readonly name: string;
  /** `present`: a client with this id was there already. `skipped`: of a kind that there is not here. `refused`: see the errors. */
  readonly result: 'imported' | 'present' | 'skipped' | 'refused';
  readonly grantType?: ClientGrantType;
  readonly disabled: boolean;
  readonly notes: readonly string[];
  readonly errors: readonly FieldError[];
}

/** Imports one client after the other, each of them whole. What was imported before is left as it is. */
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
    return { ...known, result: 'refused', grantType, errors: error.fields.map((one) => named(one, row)) };
  }
}

function isInvalid(error: unknown): error is ClientInvalidError {
  return (
    error instanceof Error && 'code' in error && error.code === 'ERR_CLIENT_INVALID' && 'fields' in error
  );
}

/** With the redirect URI itself: its place in a list of Passport's tells nobody which one it is. */
function named(error: FieldError, { redirectUris }: PassportClient): FieldError {
  const place = /^redirectUris\[(\d+)\]$/.exec(error.field)?.[1];
  return place === undefined
    ? error
    : { ...error, message: `${error.message} (${redirectUris[Number(place)]})` };
}
