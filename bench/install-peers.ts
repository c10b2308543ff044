import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SOURCE = join(import.meta.dirname, 'peers');

/** The packages of the peers cannot be installed. */
export class PeersError extends Error {
  override readonly name = 'PeersError';
}

/**
 * Installs the packages of the peers, in the versions of peers/package.json, into a folder of the user's cache, or finds them
 * there. They are no dependencies of this project, which does without their size and their advisories.
 *
 * @returns the folder, with the modules of peers/
 */
export async function installPeers(): Promise<string> {
  const versions = await readFile(join(SOURCE, 'package.json'));
  const name = `koa-gatehouse-bench-${createHash('sha256').update(versions).digest('hex').slice(0, 12)}`;
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), name);
  await mkdir(folder, { recursive: true });
  await cp(SOURCE, folder, { recursive: true });
  try {
    // Also when it has run before: it completes an installation that was interrupted.
    const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-progress'];
    await promisify(execFile)('npm', words, { cwd: folder });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new PeersError(
      `--peers: npm cannot install ${join(SOURCE, 'package.json')} in ${folder}; it needs its registry the first time.\n${stderr}`,
      { cause: error },
    );
  }
  return folder;
}
