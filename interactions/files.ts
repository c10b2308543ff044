import { readdirSync, readFileSync } from 'node:fs';
import { sep } from 'node:path';

/*
 * The files of this folder. The build replaces this module, and the views of each feature, by one that contains them, so that hosts can
 * bundle the package.
 */

/** Reads a file, such as `views/login.ejs`. */
export function readText(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}

/** The paths of the views, such as `apps/list.ejs` and `parts/time.ejs`. */
export function listViews(): readonly string[] {
  return list(new URL('views', import.meta.url));
}

/** The EJS of the views in a folder of a feature, by name, such as `device/code`. */
export function readViews(folder: URL): Readonly<Record<string, string>> {
  const files = list(folder).filter((path) => path.endsWith('.ejs'));
  return Object.fromEntries(
    files.map((path) => [path.slice(0, -'.ejs'.length), readFileSync(new URL(path, folder), 'utf8')]),
  );
}

function list(folder: URL): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll(sep, '/'));
}
