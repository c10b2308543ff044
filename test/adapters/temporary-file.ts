import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
let count = 0;

process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The path of a file that does not exist yet, in a folder that is removed after the tests. */
export function temporaryFile(name = 'test.db'): string {
  count += 1;
  return join(folder, `${count}-${name}`);
}
