import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { build, copyPublished } from './build.ts';
import { ROOT, manifest } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { run } from './run.ts';

/** The package as published. */
export interface Packed {
  /** A folder for it and for test projects; removed when the process exits. */
  readonly folder: string;
  readonly tarball: string;
  /** The files of the tarball, such as `dist/lib/index.js`. */
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

let packing: Promise<Packed> | undefined;

/** Builds and packs the package once, outside of the checkout, whose sources other tests use meanwhile. */
export async function pack(): Promise<Packed> {
  packing ??= buildAndPack();
  return packing;
}

async function buildAndPack(): Promise<Packed> {
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

/** The files that `npm pack` takes from the checkout, without the build. */
export async function filesOfCheckout(): Promise<string[]> {
  const [packed] = await npmPack(ROOT, '--dry-run');
  return packed!.files.map(({ path }) => path).filter((path) => !path.startsWith('dist/'));
}

export async function npmPack(folder: string, ...words: string[]): Promise<NpmPack[]> {
  const { code, errors, output } = await run('npm', ['pack', '--json', '--ignore-scripts', ...words], folder);
  if (code !== 0) throw new Error(`npm pack failed: ${errors}`);
  return JSON.parse(output) as NpmPack[];
}

/**
 * Creates an empty project with the packed package, and with packages of this checkout: by default its dependencies and
 * those that the README says to install. Nothing is installed by npm, which would need a registry; a dependency that
 * `package.json` lacks is missing all the same.
 */
export async function makeProject(
  { folder, tarball }: Packed,
  name: string,
  {
    type = 'module',
    dependencies = [...Object.keys(manifest.dependencies), 'knex', 'better-sqlite3'],
  }: { readonly type?: 'module' | 'commonjs'; readonly dependencies?: readonly string[] } = {},
): Promise<string> {
  const project = join(folder, name);
  const modules = join(project, 'node_modules');
  mkdirSync(modules, { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type }));
  await install(tarball, manifest, modules);
  for (const dependency of dependencies) {
    mkdirSync(dirname(join(modules, dependency)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', dependency), join(modules, dependency));
  }
  return project;
}

/** Installs a tarball, with its commands. */
export async function install(
  tarball: string,
  { name, bin }: Pick<Manifest, 'name' | 'bin'>,
  modules: string,
): Promise<void> {
  const own = join(modules, name);
  mkdirSync(own);
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const unpacked = await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', own], modules);
  if (unpacked.code !== 0) throw new Error(unpacked.errors);
  for (const [command, file] of Object.entries(bin)) {
    chmodSync(join(own, file), 0o755);
    symlinkSync(join('..', name, file), join(modules, '.bin', command));
  }
}
