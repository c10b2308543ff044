import type { Knex } from 'knex';

import { toSeconds } from '../../../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../../../contracts/index.ts';
import type { PassportClient } from '../types.ts';

export type PassportTable = 'accessTokens' | 'clients' | 'refreshTokens';

/** The tables of a source, as its queries use them. */
export interface PassportTables {
  readonly knex: Knex;
  readonly names: Readonly<Record<PassportTable, string>>;
  readonly provider: string;
  readonly isReadOnly: boolean;
  /** The columns of a table with their types. @throws ConfigError when there is no such table, or it has no such columns */
  columns(this: void, table: PassportTable): Promise<Readonly<Record<string, string>>>;
  /** Runs a query within the time limit. @throws StorageError when it fails */
  run<T>(this: void, query: () => TimedQuery<T>, timeout?: Milliseconds): Promise<T>;
  /** Reads a client by its id. */
  findClient(this: void, id: string): Promise<PassportClient | undefined>;
}

/** The part of Knex's builders that limits how long a query may take. */
export interface TimedQuery<T> {
  timeout(milliseconds: Milliseconds): PromiseLike<T>;
}

/** A row of a table of Passport. Its columns differ between versions and databases. */
export type PassportRow = Readonly<Record<string, unknown>>;

/** Passport treats an empty string like null. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** JSON from version 13 on, separated by commas before; a database that was upgraded by hand may have both. */
export function listIn(value: unknown): readonly string[] | undefined {
  const parsed = typeof value === 'string' ? parse(value) : value;
  if (Array.isArray(parsed)) return parsed.filter((entry) => typeof entry === 'string');
  if (typeof parsed !== 'string') return undefined;
  return parsed
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** Booleans are numbers on SQLite and MySQL. */
export function flagIn(value: unknown): boolean {
  return value === true || Number(value) === 1;
}

/** Laravel stores times without a zone, in UTC unless the app is configured otherwise. */
export function timeIn(value: unknown): Seconds | undefined {
  const milliseconds =
    typeof value === 'string' ? Date.parse(`${value.slice(0, 19).replace(' ', 'T')}Z`) : NaN;
  return Number.isNaN(milliseconds) ? undefined : Math.floor(toSeconds(milliseconds));
}

/**
 * Whether a column of a type can have an id. MySQL would compare a text with a number by the digits that it begins with, so that the
 * UUID of a client finds the user of another number (CVE-2026-39976); PostgreSQL would refuse the query.
 */
export function isOfType(id: string, type: string): boolean {
  if (/int|serial|numeric|decimal/i.test(type)) return /^(?:0|[1-9]\d{0,18})$/.test(id);
  if (/^uuid$/i.test(type)) return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id);
  return id.length <= 255 && !id.includes('\0');
}
