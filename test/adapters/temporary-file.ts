import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';
const ENOUGH = 4 * 2 ** 30;

/** For databases. In memory if there is enough, because SQLite waits for the disk at each commit; `tmpdir()` otherwise. */
export const FOLDER_OF_DATABASES = availableIn(MEMORY) > ENOUGH ? MEMORY : tmpdir();

function availableIn(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

const folder = mkdtempSync(join(FOLDER_OF_DATABASES, 'gatehouse-'));
let count = 0;

process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The path of a file that does not exist yet, in a folder that is removed after the tests. */
export function temporaryFile(name = 'test.db'): string {
  count += 1;
  return join(folder, `${count}-${name}`);
}
