import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { build, copyPublished } from './build.ts';
import { ROOT, manifest } from './manifest.ts';
import { run } from './run.ts';

/** The package as it would be published. */
export interface Packed {
  /** A folder for this and for what is tried with it; gone when the process ends. */
  readonly folder: string;
  readonly tarball: string;
  /** What the tarball holds, such as `dist/lib/index.js`. */
  readonly files: readonly string[];
  /** In bytes. */
  readonly size: number;
  readonly unpackedSize: number;
}

interface NpmPack {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** Builds and packs the package, away from the checkout, where other tests run from the sources meanwhile. */
export async function pack(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-package-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const stage = join(folder, 'stage');
  mkdirSync(stage);
  await build(stage);
  copyPublished(stage);
  const [packed] = await npmPack(stage, '--pack-destination', folder);
  return {
    folder,
    tarball: join(folder, packed!.filename),
    files: packed!.files.map(({ path }) => path),
    size: packed!.size,
    unpackedSize: packed!.unpackedSize,
  };
}

/** What `npm pack` would take of the checkout, but for what is built. */
export async function filesOfCheckout(): Promise<string[]> {
  const [packed] = await npmPack(ROOT, '--dry-run');
  return packed!.files.map(({ path }) => path).filter((path) => !path.startsWith('dist/'));
}

async function npmPack(folder: string, ...words: string[]): Promise<NpmPack[]> {
  const { code, errors, output } = await run('npm', ['pack', '--json', '--ignore-scripts', ...words], folder);
  if (code !== 0) throw new Error(`npm pack failed: ${errors}`);
  return JSON.parse(output) as NpmPack[];
}

/**
 * Makes an empty project, installs the packed package in it, and beside it some packages of this checkout: by default
 * what the package depends on, and what the README says to install with it. It is done by hand, because npm would ask
 * a registry; what `package.json` fails to name is missing all the same.
 */
export async function makeProject(
  { folder, tarball }: Packed,
  name: string,
  {
    type = 'module',
    beside = [...Object.keys(manifest.dependencies), 'knex', 'better-sqlite3'],
  }: { readonly type?: 'module' | 'commonjs'; readonly beside?: readonly string[] } = {},
): Promise<string> {
  const project = join(folder, name);
  const modules = join(project, 'node_modules');
  const own = join(modules, manifest.name);
  mkdirSync(join(modules, '.bin'), { recursive: true });
  mkdirSync(own);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type }));
  const unpacked = await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', own], folder);
  if (unpacked.code !== 0) throw new Error(unpacked.errors);
  for (const [command, file] of Object.entries(manifest.bin)) {
    chmodSync(join(own, file), 0o755);
    symlinkSync(join('..', manifest.name, file), join(modules, '.bin', command));
  }
  for (const dependency of beside) {
    mkdirSync(dirname(join(modules, dependency)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', dependency), join(modules, dependency));
  }
  return project;
}
