import { existsSync, readFileSync } from 'node:fs';

/** The mistakes in a cell of a table that names tests. Paths are relative to the file with the table. */
export function mistakesIn(shownBy: string, table: URL): string[] {
  const mistakes: string[] = [];
  let titles = 0;
  for (const [, path = '', all = ''] of shownBy.matchAll(/\[[^\]]+\]\(([^)]+)\): ((?:“[^”]+”(?:, )?)+)/g)) {
    const file = new URL(path, table);
    if (!existsSync(file)) mistakes.push(`there is no ${path}`);
    const source = existsSync(file) ? readFileSync(file, 'utf8').replaceAll(String.raw`\'`, "'") : '';
    for (const [, title = ''] of all.matchAll(/“([^”]+)”/g)) {
      titles += 1;
      if (!source.includes(title)) mistakes.push(`${path} has no test “${title}”`);
    }
  }
  return titles === 0 ? ['names no test', ...mistakes] : mistakes;
}
