import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const LIMIT = 300_000;

/** The programs in the versions of agents/package.json, which is the only place that names them. */
export interface InstalledAgents {
  /** The file of a package, or of agents/. */
  file(path: string): string;
  /** A package with its version, such as `mcp-remote 0.15.1`. */
  named(name: string): string;
}

/** Installs the programs in a folder, without their install scripts. They are no dependencies of this project. */
export async function installAgents(folder: string, of = 'agents'): Promise<InstalledAgents> {
  const source = join(import.meta.dirname, of);
  await cp(source, folder, { recursive: true });
  const words = [
    'install',
    '--prefer-offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-progress',
  ];
  await promisify(execFile)('npm', words, { cwd: folder, timeout: LIMIT });
  const { dependencies } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return {
    file: (path) => join(folder, path),
    named: (name) => `${name} ${dependencies[name]}`,
  };
}
