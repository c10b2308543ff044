import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The root of the checkout. */
export const ROOT: string = resolve(import.meta.dirname, '../../..');

/** The files of an entry point: the source and the build. */
export interface EntryPoint {
  readonly 'gatehouse:source': string;
  readonly types: string;
  /** Absent for types alone. */
  readonly default?: string;
}

/** The members of `package.json` that tests use. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | EntryPoint>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
}

export const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** The specifiers that a program can import when it runs, such as `koa-gatehouse/pdf`: not those of types alone. */
export const specifiers: readonly string[] = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target !== 'string' && target.default !== undefined)
  .map(([entry]) => manifest.name + entry.slice(1));
