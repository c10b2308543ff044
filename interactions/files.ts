import { readFileSync } from 'node:fs';

/**
 * Reads a file of this folder, such as `views/login.ejs`. The build replaces this module by one that contains the files, so that
 * hosts can bundle the package.
 */
export function readText(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}
