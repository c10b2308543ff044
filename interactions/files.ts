import { readdirSync, readFileSync } from 'node:fs';

/*
 * The files of this folder. The build replaces this module by one that contains them, so that hosts can bundle the package.
 */

/** Reads a file, such as `views/login.ejs`. */
export function readText(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}

/** The paths of the views, such as `apps/list.ejs` and `parts/time.ejs`. */
export function listViews(): readonly string[] {
  return readdirSync(new URL('views', import.meta.url), { recursive: true, encoding: 'utf8' });
}
