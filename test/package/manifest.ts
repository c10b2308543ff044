import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The checkout. */
export const ROOT: string = resolve(import.meta.dirname, '../..');

/** The files of one name that people import: the source, and what is built of it. */
export interface Door {
  readonly 'gatehouse:source': string;
  readonly types: string;
  readonly default: string;
}

/** What `package.json` says. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | Door>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
}

export const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** The names that people import, such as `koa-gatehouse/pdf`. */
export const specifiers: readonly string[] = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target !== 'string')
  .map(([entry]) => manifest.name + entry.slice(1));
